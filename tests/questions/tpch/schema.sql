-- TPC-H-shaped data with every column that its queries read, made by hashing: the specification's value ranges and
-- selectivities at a scale of 0.01, not dbgen's bytes. A third of the customers have no orders.
CREATE FUNCTION h(n bigint, seed bigint, modulus bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT ((hashint8extended(n, seed) & 9223372036854775807) % modulus) $$;

CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
INSERT INTO region SELECT i - 1, n, 'comment' FROM unnest(ARRAY['AFRICA','AMERICA','ASIA','EUROPE','MIDDLE EAST']) WITH ORDINALITY u(n, i);

CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL REFERENCES region, n_comment varchar(152));
INSERT INTO nation SELECT i - 1, n, r, 'comment' FROM unnest(
  ARRAY['ALGERIA','ARGENTINA','BRAZIL','CANADA','EGYPT','ETHIOPIA','FRANCE','GERMANY','INDIA','INDONESIA','IRAN','IRAQ','JAPAN',
        'JORDAN','KENYA','MOROCCO','MOZAMBIQUE','PERU','CHINA','ROMANIA','SAUDI ARABIA','VIETNAM','RUSSIA','UNITED KINGDOM','UNITED STATES'],
  ARRAY[0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1]) WITH ORDINALITY u(n, r, i);

CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, s_nationkey int NOT NULL REFERENCES nation, s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, s_comment varchar(101) NOT NULL);
INSERT INTO supplier
SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), 'address ' || i, k, 10 + k || '-' || lpad(h(i, 61, 1000)::text, 3, '0') || '-5555', h(i, 62, 1100000) / 100.0 - 1000,
       CASE WHEN h(i, 63, 20) = 0 THEN 'wake Customer sleep Complaints' ELSE 'carefully final deposits' END
FROM generate_series(1, 100) i CROSS JOIN LATERAL (SELECT h(i, 1, 25) AS k) x;

CREATE TABLE part (p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL, p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL);
INSERT INTO part
SELECT i, (ARRAY['almond','forest','blue','green','ivory','khaki','lemon','navy','olive','peru'])[1 + h(i, 64, 10)] || ' ' || (ARRAY['antique','brown','green','dodger','frosted','pink','plum','red'])[1 + h(i, 65, 8)],
       'Manufacturer#' || m, 'Brand#' || m || 1 + h(i, 3, 5),
       (ARRAY['STANDARD','SMALL','MEDIUM','LARGE','ECONOMY','PROMO'])[1 + h(i, 4, 6)] || ' ' ||
       (ARRAY['ANODIZED','BURNISHED','PLATED','POLISHED','BRUSHED'])[1 + h(i, 5, 5)] || ' ' || (ARRAY['TIN','NICKEL','BRASS','STEEL','COPPER'])[1 + h(i, 6, 5)],
       1 + h(i, 7, 50), (ARRAY['SM','LG','MED','JUMBO','WRAP'])[1 + h(i, 8, 5)] || ' ' || (ARRAY['CASE','BOX','BAG','JAR','PKG','PACK','CAN','DRUM'])[1 + h(i, 9, 8)],
       900 + h(i, 66, 100000) / 100.0, 'comment'
FROM generate_series(1, 2000) i CROSS JOIN LATERAL (SELECT 1 + h(i, 2, 5) AS m) x;

CREATE TABLE partsupp (ps_partkey int NOT NULL REFERENCES part, ps_suppkey int NOT NULL REFERENCES supplier, ps_availqty int NOT NULL, ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
INSERT INTO partsupp
SELECT p, 1 + (p + n * 25 + (p - 1) / 100) % 100, 1 + h(p * 4 + n, 67, 9999), 1 + h(p * 4 + n, 68, 99900) / 100.0, 'comment' FROM generate_series(1, 2000) p CROSS JOIN generate_series(0, 3) n;

CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey int NOT NULL REFERENCES nation, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL);
INSERT INTO customer
SELECT i, 'Customer#' || lpad(i::text, 9, '0'), 'address ' || i, k, 10 + k || '-' || lpad(h(i, 69, 1000)::text, 3, '0') || '-1234', h(i, 12, 1100000) / 100.0 - 1000,
       (ARRAY['AUTOMOBILE','BUILDING','FURNITURE','MACHINERY','HOUSEHOLD'])[1 + h(i, 11, 5)], 'comment'
FROM generate_series(1, 1500) i CROSS JOIN LATERAL (SELECT h(i, 10, 25) AS k) x;

CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL REFERENCES customer, o_orderstatus char(1) NOT NULL, o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE lineitem (
  l_orderkey int NOT NULL REFERENCES orders, l_partkey int NOT NULL REFERENCES part, l_suppkey int NOT NULL REFERENCES supplier, l_linenumber int NOT NULL,
  l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL,
  l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
  l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));
CREATE TEMP TABLE o AS SELECT i AS o_orderkey, 1 + 3 * h(i, 13, 500) + h(i, 14, 2) AS o_custkey, date '1992-01-01' + h(i, 15, 2406)::int AS o_orderdate FROM generate_series(1, 15000) i;
CREATE TEMP TABLE l AS
SELECT o_orderkey AS l_orderkey, p_partkey AS l_partkey, 1 + (p_partkey + h(k, 18, 4) * 25 + (p_partkey - 1) / 100) % 100 AS l_suppkey, n AS l_linenumber,
       q AS l_quantity, round(q * p_retailprice, 2) AS l_extendedprice, h(k, 21, 11) / 100.0 AS l_discount, h(k, 22, 9) / 100.0 AS l_tax,
       CASE WHEN received > date '1995-06-17' THEN 'N' WHEN h(k, 23, 2) = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
       CASE WHEN shipped > date '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus, shipped AS l_shipdate, o_orderdate + 30 + h(k, 26, 61)::int AS l_commitdate, received AS l_receiptdate,
       (ARRAY['DELIVER IN PERSON','COLLECT COD','NONE','TAKE BACK RETURN'])[1 + h(k, 27, 4)] AS l_shipinstruct, (ARRAY['REG AIR','AIR','RAIL','SHIP','TRUCK','MAIL','FOB'])[1 + h(k, 28, 7)] AS l_shipmode, 'comment' AS l_comment
FROM o
CROSS JOIN LATERAL generate_series(1, 1 + h(o_orderkey, 19, 7)::int) n
CROSS JOIN LATERAL (SELECT o_orderkey::bigint * 8 + n AS k) a
CROSS JOIN LATERAL (SELECT 1 + h(k, 24, 50) AS q, o_orderdate + 1 + h(k, 25, 121)::int AS shipped) b
CROSS JOIN LATERAL (SELECT shipped + 1 + h(k, 29, 30)::int AS received) c
JOIN part ON p_partkey = 1 + h(k, 17, 2000);
INSERT INTO orders
SELECT o_orderkey, o_custkey, CASE WHEN s = ARRAY['F'] THEN 'F' WHEN s = ARRAY['O'] THEN 'O' ELSE 'P' END, total, o_orderdate, (ARRAY['1-URGENT','2-HIGH','3-MEDIUM','4-NOT SPECIFIED','5-LOW'])[1 + h(o_orderkey, 16, 5)],
       'Clerk#' || lpad(h(o_orderkey, 70, 10)::text, 9, '0'), 0, CASE WHEN h(o_orderkey, 71, 50) = 0 THEN 'the special packages requests' ELSE 'blithely even' END
FROM o JOIN (SELECT l_orderkey, array_agg(DISTINCT l_linestatus) AS s, round(sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)), 2) AS total FROM l GROUP BY 1) t ON l_orderkey = o_orderkey;
INSERT INTO lineitem SELECT * FROM l;
CREATE INDEX ON orders (o_custkey);
