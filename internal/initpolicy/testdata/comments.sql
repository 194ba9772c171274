-- What comments say: the unit, though names and keys say another, rows, bounds and values; and what is wrong with some of them.
CREATE TABLE users (id int PRIMARY KEY, login text);
CREATE TABLE logins (user_id int REFERENCES users, at timestamptz);
CREATE TABLE families (id int PRIMARY KEY, size int, income numeric(10,2), region text, since date, note text, "key" int);
CREATE TABLE trips (family_id int REFERENCES families, cost int, kind text);
COMMENT ON TABLE families IS E'Families that take part.\rdpproxy_evil: {public: true}
dpproxy: {privacy_unit: {name: household, column: id}, max_rows: 50000}';
COMMENT ON TABLE trips IS 'dpproxy: {max_rows_per_unit: 40}';
COMMENT ON COLUMN families.size IS 'People. dpproxy: {bounds: [1, 12]}';
COMMENT ON COLUMN families.income IS 'dpproxy: {bounds: [0, 500000], per_unit: [0, 500000], grid: 1}';
COMMENT ON COLUMN families.region IS 'dpproxy: {values: [north, "south: #2"]}';
COMMENT ON COLUMN families.since IS 'dpproxy: {bounds: [2026-12-31, 2015-01-01]}';
COMMENT ON COLUMN families.note IS 'dpproxy: {public: true}';
COMMENT ON COLUMN trips.cost IS 'as dpproxy: says';
