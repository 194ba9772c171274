# Totals

-- Total price of all orders
SELECT count(*), sum(o_totalprice), avg(o_totalprice) FROM orders;

-- Net revenue
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem;

-- Average discount of large lines
SELECT avg(l_discount) FROM lineitem WHERE l_quantity > 40;

-- Lines that were received late
SELECT count(*) FROM lineitem WHERE l_receiptdate > l_commitdate;

-- Customers with debts
SELECT count(*), sum(c_acctbal) FROM customer WHERE c_acctbal < 0;

-- Customers who have ordered
SELECT count(DISTINCT o_custkey) FROM orders;

-- Profit of all lines
SELECT sum(l.l_extendedprice * (1 - l.l_discount) - ps.ps_supplycost * l.l_quantity) AS profit
FROM lineitem l JOIN partsupp ps ON ps.ps_partkey = l.l_partkey AND ps.ps_suppkey = l.l_suppkey;

-- Tax collected in 1997
SELECT sum(l_extendedprice * (1 - l_discount) * l_tax) FROM lineitem WHERE l_shipdate BETWEEN DATE '1997-01-01' AND DATE '1997-12-31';

# By category

-- Customers by market segment
SELECT c_mktsegment, count(*), avg(c_acctbal) FROM customer GROUP BY c_mktsegment ORDER BY c_mktsegment;

-- Customers by nation
SELECT n_name, count(*) AS customers FROM customer JOIN nation ON n_nationkey = c_nationkey GROUP BY n_name ORDER BY customers DESC, n_name;

-- Revenue by region of the customer
SELECT r_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey AND n_regionkey = r_regionkey
GROUP BY r_name ORDER BY revenue DESC;

-- Revenue by region of the supplier
SELECT r.r_name, sum(l.l_extendedprice) FROM lineitem l JOIN supplier s ON s.s_suppkey = l.l_suppkey JOIN nation n ON n.n_nationkey = s.s_nationkey JOIN region r ON r.r_regionkey = n.n_regionkey GROUP BY r.r_name ORDER BY r.r_name;

-- Orders by priority
SELECT o_orderpriority, count(*), sum(o_totalprice) FROM orders GROUP BY o_orderpriority ORDER BY o_orderpriority;

-- Orders by status and priority
SELECT o_orderstatus, o_orderpriority, count(*) FROM orders GROUP BY o_orderstatus, o_orderpriority ORDER BY 1, 2;

-- Lines by mode of shipping
SELECT l_shipmode, count(*) AS lines, avg(l_receiptdate - l_shipdate) AS days FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode;

-- Revenue by brand
SELECT p_brand, sum(l_extendedprice) AS revenue FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY p_brand ORDER BY revenue DESC LIMIT 10;

-- Revenue by manufacturer and size class
SELECT p_mfgr, CASE WHEN p_size < 20 THEN 'small' ELSE 'large' END AS class, sum(l_quantity) FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY 1, 2 ORDER BY 1, 2;

-- Customers of Asia by nation
SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA' GROUP BY n_name ORDER BY n_name;

-- Quantity by container
SELECT p_container, sum(l_quantity) AS qty FROM lineitem, part WHERE l_partkey = p_partkey AND p_brand = 'Brand#23' GROUP BY p_container ORDER BY qty DESC, p_container;

-- Balance by nation, with nations that owe
SELECT n_name, sum(c_acctbal) FROM customer, nation WHERE c_nationkey = n_nationkey GROUP BY n_name HAVING avg(c_acctbal) < 4500 ORDER BY n_name;

-- Orders by clerk
SELECT o_clerk, count(*) FROM orders GROUP BY o_clerk ORDER BY count(*) DESC, o_clerk LIMIT 5;

-- Account balances by sign
SELECT sign(c_acctbal) AS s, count(*) FROM customer GROUP BY s ORDER BY s;

# Over time

-- Orders per year
SELECT extract(year FROM o_orderdate) AS year, count(*), sum(o_totalprice) FROM orders GROUP BY 1 ORDER BY 1;

-- Revenue per month of 1997
SELECT date_trunc('month', l_shipdate) AS month, sum(l_extendedprice * (1 - l_discount)) FROM lineitem WHERE l_shipdate >= '1997-01-01' AND l_shipdate < '1998-01-01' GROUP BY 1 ORDER BY 1;

-- Orders by quarter and segment
SELECT date_trunc('quarter', o_orderdate)::date AS quarter, c_mktsegment, count(*) FROM orders JOIN customer ON c_custkey = o_custkey WHERE o_orderdate >= '1996-01-01' AND o_orderdate < '1997-01-01' GROUP BY 1, 2 ORDER BY 1, 2;

-- Average days from order to shipment, by year
SELECT extract(year FROM o_orderdate) AS y, avg(l_shipdate - o_orderdate) FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY y ORDER BY y;

-- Orders per month number with a spine
SELECT m, count(o_orderkey) FROM generate_series(1, 12) AS m LEFT JOIN orders ON extract(month FROM o_orderdate) = m GROUP BY m ORDER BY m;

-- Late lines per year and mode
SELECT extract(year FROM l_receiptdate) AS y, l_shipmode, count(*) FILTER (WHERE l_receiptdate > l_commitdate) AS late, count(*) AS lines FROM lineitem GROUP BY 1, 2 ORDER BY 1, 2;

-- Last order date
SELECT max(o_orderdate), min(o_orderdate) FROM orders;

-- Orders on the last day
SELECT count(*) FROM orders WHERE o_orderdate = (SELECT max(o_orderdate) FROM orders);

# Top n

-- Five nations by revenue
SELECT n_name, sum(o_totalprice) AS total FROM orders JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey GROUP BY n_name ORDER BY total DESC LIMIT 5;

-- Top supplier of each region
SELECT * FROM (
  SELECT r_name, s_name, sum(l_quantity) AS qty, row_number() OVER (PARTITION BY r_name ORDER BY sum(l_quantity) DESC) AS rn
  FROM lineitem JOIN supplier ON s_suppkey = l_suppkey JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
  GROUP BY r_name, s_name) t WHERE rn = 1 ORDER BY r_name;

-- Ten parts by quantity
SELECT l_partkey, sum(l_quantity) AS qty FROM lineitem GROUP BY l_partkey ORDER BY qty DESC, l_partkey LIMIT 10;

-- Suppliers with their nation and revenue, best ten
SELECT s.s_suppkey, s.s_name, n.n_name, sum(l.l_extendedprice) AS revenue
FROM supplier s JOIN nation n ON n.n_nationkey = s.s_nationkey JOIN lineitem l ON l.l_suppkey = s.s_suppkey
GROUP BY s.s_suppkey, n.n_name ORDER BY revenue DESC LIMIT 10;

-- Customers with the largest balance
-- refused: it names people
SELECT c_name, c_acctbal FROM customer ORDER BY c_acctbal DESC LIMIT 10;

# Ratios and shares

-- Share of urgent orders per year
SELECT extract(year FROM o_orderdate) AS y, avg(CASE WHEN o_orderpriority = '1-URGENT' THEN 1.0 ELSE 0 END) AS urgent FROM orders GROUP BY y ORDER BY y;

-- Share of returned lines by mode
SELECT l_shipmode, 100.00 * sum(CASE WHEN l_returnflag = 'R' THEN l_extendedprice ELSE 0 END) / sum(l_extendedprice) AS pct FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode;

-- Share of each segment in revenue
SELECT c_mktsegment, round(100 * sum(o_totalprice) / sum(sum(o_totalprice)) OVER (), 2) AS pct FROM orders, customer WHERE c_custkey = o_custkey GROUP BY c_mktsegment ORDER BY pct DESC;

-- Lines per order
SELECT count(*) * 1.0 / count(DISTINCT l_orderkey) FROM lineitem;

-- Average price of a unit by type of metal
SELECT split_part(p_type, ' ', 3) AS metal, sum(l_extendedprice) / sum(l_quantity) AS unit_price FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY 1 ORDER BY 1;

-- Revenue of domestic trade
SELECT sum(l_extendedprice) FILTER (WHERE s_nationkey = c_nationkey) / sum(l_extendedprice) AS domestic
FROM lineitem JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey JOIN supplier ON s_suppkey = l_suppkey;

# Per-person behaviour

-- Orders per customer
SELECT avg(n), max(n) FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) t;

-- Average size of an order in lines
SELECT avg(n) FROM (SELECT l_orderkey, count(*) AS n FROM lineitem GROUP BY l_orderkey) t;

-- Orders of more than 300 units
SELECT count(*) FROM (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 200) t;

-- Total price of orders with more than 200 units, by year
SELECT extract(year FROM o_orderdate) AS y, sum(o_totalprice) FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 200) GROUP BY y ORDER BY y;

-- Average largest order of customers by segment
SELECT c_mktsegment, avg(m) FROM customer JOIN (SELECT o_custkey, max(o_totalprice) AS m FROM orders GROUP BY o_custkey) t ON o_custkey = c_custkey GROUP BY c_mktsegment ORDER BY 1;

-- Customers by number of orders
SELECT n, count(*) FROM (SELECT c_custkey, count(o_orderkey) AS n FROM customer LEFT JOIN orders ON o_custkey = c_custkey GROUP BY c_custkey) t GROUP BY n ORDER BY n;

-- Days between orders of a customer
SELECT avg(d) FROM (SELECT o_orderdate - lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS d FROM orders) t;

# Never and missing

-- Customers without orders, by nation
SELECT n_name, count(*) FROM customer JOIN nation ON n_nationkey = c_nationkey WHERE NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey) GROUP BY n_name ORDER BY n_name;

-- Parts that nobody bought in 1998
SELECT count(*) FROM part WHERE p_partkey NOT IN (SELECT l_partkey FROM lineitem WHERE l_shipdate >= '1998-01-01');

-- Nations without customers in debt
SELECT n_name FROM nation WHERE NOT EXISTS (SELECT 1 FROM customer WHERE c_nationkey = n_nationkey AND c_acctbal < -900) ORDER BY n_name;

-- Suppliers by number of lines, also those without
SELECT s_name, count(l_orderkey) AS lines FROM supplier LEFT JOIN lineitem ON l_suppkey = s_suppkey AND l_shipdate >= '1998-09-01' GROUP BY s_name ORDER BY lines, s_name LIMIT 10;

# Comparisons with averages

-- Orders above the average price
SELECT count(*) FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders);

-- Customers whose balance is above that of their nation
SELECT count(*) FROM customer c WHERE c_acctbal > (SELECT avg(c_acctbal) FROM customer x WHERE x.c_nationkey = c.c_nationkey);

-- Nations above the average revenue
WITH r AS (SELECT n_name, sum(o_totalprice) AS v FROM orders JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey GROUP BY n_name)
SELECT n_name FROM r WHERE v > (SELECT avg(v) FROM r) ORDER BY n_name;

# Distributions

-- Orders by price band
SELECT width_bucket(o_totalprice, 0, 500000, 10) AS band, count(*) FROM orders GROUP BY band ORDER BY band;

-- Median price of orders by priority
SELECT o_orderpriority, percentile_cont(0.5) WITHIN GROUP (ORDER BY o_totalprice) FROM orders GROUP BY o_orderpriority ORDER BY o_orderpriority;

-- Lines by quantity
SELECT l_quantity, count(*) FROM lineitem GROUP BY l_quantity ORDER BY l_quantity;

-- Lines by discount
SELECT l_discount, count(*), sum(l_extendedprice) FROM lineitem GROUP BY l_discount ORDER BY l_discount;

-- Price of the part against the quantity bought
SELECT corr(p_retailprice, l_quantity) FROM lineitem JOIN part ON p_partkey = l_partkey;

# Year over year and month over month

-- Growth of revenue by year
SELECT y, v, v / lag(v) OVER (ORDER BY y) - 1 AS growth FROM (SELECT extract(year FROM o_orderdate) AS y, sum(o_totalprice) AS v FROM orders GROUP BY 1) t ORDER BY y;

-- 1996 against 1997 by region
SELECT r_name, sum(o_totalprice) FILTER (WHERE o_orderdate < '1997-01-01') AS y1996, sum(o_totalprice) FILTER (WHERE o_orderdate >= '1997-01-01') AS y1997
FROM orders JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey JOIN region ON r_regionkey = n_regionkey
WHERE o_orderdate >= '1996-01-01' AND o_orderdate < '1998-01-01' GROUP BY r_name ORDER BY r_name;

-- Running total of orders by month of 1997
SELECT m, sum(n) OVER (ORDER BY m) FROM (SELECT date_trunc('month', o_orderdate) AS m, count(*) AS n FROM orders WHERE o_orderdate >= '1997-01-01' AND o_orderdate <= '1997-12-31' GROUP BY 1) t ORDER BY m;
