-- TPC-H-shaped data, made by hashing: the specification's cardinalities, value ranges and selectivities, not dbgen's bytes.
-- :sf is the scale factor; a third of the customers have no orders.
CREATE FUNCTION h(n bigint, seed bigint, modulus bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT ((hashint8extended(n, seed) & 9223372036854775807) % modulus) $$;

CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text NOT NULL);
INSERT INTO region SELECT i - 1, n FROM unnest(ARRAY['AFRICA','AMERICA','ASIA','EUROPE','MIDDLE EAST']) WITH ORDINALITY u(n, i);

CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text NOT NULL, n_regionkey int NOT NULL);
INSERT INTO nation SELECT i - 1, n, r FROM unnest(
  ARRAY['ALGERIA','ARGENTINA','BRAZIL','CANADA','EGYPT','ETHIOPIA','FRANCE','GERMANY','INDIA','INDONESIA','IRAN','IRAQ','JAPAN',
        'JORDAN','KENYA','MOROCCO','MOZAMBIQUE','PERU','CHINA','ROMANIA','SAUDI ARABIA','VIETNAM','RUSSIA','UNITED KINGDOM','UNITED STATES'],
  ARRAY[0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1]) WITH ORDINALITY u(n, r, i);

CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_nationkey int NOT NULL);
INSERT INTO supplier SELECT i, h(i, 1, 25) FROM generate_series(1, (10000 * :sf)::int) i;

CREATE TABLE part (p_partkey int PRIMARY KEY, p_brand text NOT NULL, p_type text NOT NULL, p_size int NOT NULL, p_container text NOT NULL);
INSERT INTO part
SELECT i, 'Brand#' || 1 + h(i, 2, 5) || 1 + h(i, 3, 5),
       (ARRAY['STANDARD','SMALL','MEDIUM','LARGE','ECONOMY','PROMO'])[1 + h(i, 4, 6)] || ' ' ||
       (ARRAY['ANODIZED','BURNISHED','PLATED','POLISHED','BRUSHED'])[1 + h(i, 5, 5)] || ' ' || (ARRAY['TIN','NICKEL','BRASS','STEEL','COPPER'])[1 + h(i, 6, 5)],
       1 + h(i, 7, 50),
       (ARRAY['SM','LG','MED','JUMBO','WRAP'])[1 + h(i, 8, 5)] || ' ' || (ARRAY['CASE','BOX','BAG','JAR','PKG','PACK','CAN','DRUM'])[1 + h(i, 9, 8)]
FROM generate_series(1, (200000 * :sf)::int) i;

CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name text NOT NULL, c_nationkey int NOT NULL, c_mktsegment text NOT NULL, c_acctbal numeric(12,2) NOT NULL);
INSERT INTO customer
SELECT i, 'Customer#' || i, h(i, 10, 25), (ARRAY['AUTOMOBILE','BUILDING','FURNITURE','MACHINERY','HOUSEHOLD'])[1 + h(i, 11, 5)], h(i, 12, 1100000) / 100.0 - 1000
FROM generate_series(1, (150000 * :sf)::int) i;

CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL REFERENCES customer, o_orderdate date NOT NULL, o_orderpriority text NOT NULL, o_shippriority int NOT NULL);
INSERT INTO orders
SELECT i, 1 + 3 * h(i, 13, (50000 * :sf)::int) + h(i, 14, 2), date '1992-01-01' + h(i, 15, 2406)::int,
       (ARRAY['1-URGENT','2-HIGH','3-MEDIUM','4-NOT SPECIFIED','5-LOW'])[1 + h(i, 16, 5)], 0
FROM generate_series(1, (1500000 * :sf)::int) i;

CREATE TABLE lineitem (
  l_orderkey int NOT NULL, l_linenumber int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL,
  l_quantity numeric(12,2) NOT NULL, l_extendedprice numeric(12,2) NOT NULL, l_discount numeric(12,2) NOT NULL, l_tax numeric(12,2) NOT NULL,
  l_returnflag text NOT NULL, l_linestatus text NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
  l_shipinstruct text NOT NULL, l_shipmode text NOT NULL);
INSERT INTO lineitem
SELECT o_orderkey, n, 1 + h(k, 17, (200000 * :sf)::int), 1 + h(k, 18, (10000 * :sf)::int),
       q, round(q * (900 + h(k, 20, 100000) / 1000.0), 2), h(k, 21, 11) / 100.0, h(k, 22, 9) / 100.0,
       CASE WHEN received > date '1995-06-17' THEN 'N' WHEN h(k, 23, 2) = 0 THEN 'R' ELSE 'A' END,
       CASE WHEN shipped > date '1995-06-17' THEN 'O' ELSE 'F' END, shipped, o_orderdate + 30 + h(k, 26, 61)::int, received,
       (ARRAY['DELIVER IN PERSON','COLLECT COD','NONE','TAKE BACK RETURN'])[1 + h(k, 27, 4)],
       (ARRAY['REG AIR','AIR','RAIL','SHIP','TRUCK','MAIL','FOB'])[1 + h(k, 28, 7)]
FROM orders
CROSS JOIN LATERAL generate_series(1, 1 + h(o_orderkey, 19, 7)::int) n
CROSS JOIN LATERAL (SELECT o_orderkey::bigint * 8 + n AS k) a
CROSS JOIN LATERAL (SELECT 1 + h(k, 24, 50) AS q, o_orderdate + 1 + h(k, 25, 121)::int AS shipped) b
CROSS JOIN LATERAL (SELECT shipped + 1 + h(k, 29, 30)::int AS received) c;

ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);
CREATE INDEX ON orders (o_custkey);
CREATE UNIQUE INDEX ON orders (o_orderkey) INCLUDE (o_custkey);

-- What an administrator can add to make unfiltered scans cheap: the unit, and fixed-point integers, beside the facts.
CREATE TABLE lineitem_stored (
  custkey int NOT NULL, returnflag text NOT NULL, linestatus text NOT NULL, shipdate date NOT NULL,
  quantity int NOT NULL, extendedprice int NOT NULL, discount int NOT NULL, tax int NOT NULL); -- in hundredths
INSERT INTO lineitem_stored
SELECT o_custkey, l_returnflag, l_linestatus, l_shipdate, l_quantity * 100, l_extendedprice * 100, l_discount * 100, l_tax * 100
FROM lineitem JOIN orders ON l_orderkey = o_orderkey ORDER BY l_orderkey, l_linenumber;

-- One row for each unit, and values that are missing.
CREATE TABLE people (id int PRIMARY KEY, city text NOT NULL, age int, income numeric(12,2));
INSERT INTO people
SELECT i, (ARRAY['Aalen','Bonn','Celle','Dessau','Essen','Fulda','Gera','Halle','Ilmenau','Jena','Kiel','Lahr','Mainz','Neuss','Olpe','Passau','Rheine','Speyer',
           'Trier','Ulm'])[1 + h(i, 30, 20)], nullif(h(i, 31, 101), 0), nullif(h(i, 32, 101), 0) * 1000 + h(i, 33, 100000) / 100.0
FROM generate_series(1, (5000000 * :sf)::int) i;

-- What bench keys fills.
CREATE TABLE codes (n int PRIMARY KEY, label text NOT NULL);
CREATE TABLE items (custkey int NOT NULL, code int NOT NULL);
CREATE TABLE picks (custkey int NOT NULL, code int);
CREATE TABLE events (custkey int NOT NULL, kind int NOT NULL);
