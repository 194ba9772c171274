# Totals

-- How many orders have there been?
SELECT count(*) FROM orders;

-- How many customers do we have, and how many get the newsletter?
SELECT count(*) AS customers, count(*) FILTER (WHERE newsletter) AS subscribed FROM customers;

-- What did we sell in 2024, without what was cancelled?
SELECT sum(total) AS revenue
FROM orders
WHERE status NOT IN ('cancelled', 'returned')
  AND ordered_at >= '2024-01-01' AND ordered_at < '2025-01-01';

-- What is the average order value?
select round(avg(total), 2) as aov from orders where status <> 'cancelled';

-- How many customers have ever ordered something?
SELECT COUNT(DISTINCT customer_id) FROM orders;

-- Smallest, largest and total payment
-- near: 25
SELECT min(amount), max(amount), sum(amount), count(*) FROM payments;

-- How many units have been sold and returned?
SELECT sum(quantity) AS sold, sum(CASE WHEN returned THEN quantity ELSE 0 END) AS returned FROM order_items;

-- What is the gross margin of everything sold?
SELECT sum(i.quantity * i.unit_price * (1 - i.discount)) - sum(i.quantity * p.unit_cost) AS margin
FROM order_items i JOIN products p ON p.product_id = i.product_id;

-- How many different products were sold?
SELECT count(DISTINCT product_id) FROM order_items;

-- When was the first and when the last order?
SELECT min(ordered_at)::date AS first_order, max(ordered_at)::date AS last_order FROM orders;

-- How many orders used a coupon?
SELECT count(coupon) AS with_coupon, count(*) - count(coupon) AS without FROM orders;

-- Average shipping time in hours
SELECT avg(extract(epoch FROM delivered_at - ordered_at) / 3600) AS hours FROM orders WHERE status = 'delivered';

-- How many orders took longer than a week to arrive?
SELECT count(*) FROM orders WHERE delivered_at - ordered_at > interval '7 days';

-- How many customers have no city?
SELECT count(*) FROM customers WHERE city IS NULL;

-- How many people use Gmail?
SELECT count(*) FROM customers WHERE email LIKE '%@gmail.com';

-- Average age of our customers
SELECT avg(date_part('year', age(timestamp '2024-12-31', birth_date))) FROM customers;

-- Customers above 65
SELECT count(*) FROM customers WHERE birth_date < date '2024-12-31' - interval '65 years';

-- Revenue of the order lines view
SELECT sum(amount), avg(amount), count(*) FROM order_lines;

-- Median order value
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders;

-- How many payments were made in instalments, and how many instalments on average?
SELECT count(*), avg(installments) FROM payments WHERE installments > 1;

# By category

-- Orders by status
SELECT status, count(*) FROM orders GROUP BY status ORDER BY count(*) DESC;

-- Revenue by sales channel
SELECT channel, sum(total) AS revenue, count(*) AS orders, avg(total) AS aov FROM orders GROUP BY channel ORDER BY revenue DESC;

-- Customers by country
SELECT c.country, co.name, count(*) AS customers
FROM customers c JOIN countries co ON co.code = c.country
GROUP BY c.country, co.name
ORDER BY customers DESC, c.country;

-- Customers by country code alone
SELECT country, count(*) FROM customers GROUP BY 1 ORDER BY 1;

-- Revenue by region of the world
SELECT co.region, sum(o.total) AS revenue
FROM orders o
JOIN countries co ON o.ship_country = co.code
WHERE o.status = 'delivered'
GROUP BY co.region
ORDER BY revenue DESC;

-- Revenue by category
SELECT cat.name AS category, sum(i.quantity * i.unit_price * (1 - i.discount)) AS revenue
FROM order_items i
JOIN products p USING (product_id)
JOIN categories cat USING (category_id)
GROUP BY cat.name
ORDER BY revenue DESC;

-- Units by department and category
SELECT cat.department, cat.name, sum(i.quantity) AS units
FROM order_items i JOIN products p ON i.product_id = p.product_id JOIN categories cat ON cat.category_id = p.category_id
GROUP BY cat.department, cat.name
ORDER BY cat.department, units DESC;

-- Margin by brand
SELECT p.brand,
       sum(i.quantity * (i.unit_price * (1 - i.discount) - p.unit_cost)) AS margin
FROM order_items i JOIN products p USING (product_id)
GROUP BY p.brand
ORDER BY margin DESC;

-- Payments by method
SELECT method, count(*) AS payments, round(sum(amount), 2) AS total, round(avg(amount), 2) AS average
FROM payments GROUP BY method ORDER BY total DESC;

-- Customers by segment and gender
SELECT segment, gender, count(*) FROM customers GROUP BY segment, gender ORDER BY 1, 2;

-- Average rating by product category
SELECT c.name, avg(r.rating)::numeric(3,2) AS rating, count(*) AS reviews
FROM reviews r JOIN products p ON p.product_id = r.product_id JOIN categories c ON c.category_id = p.category_id
GROUP BY c.name HAVING count(*) > 20
ORDER BY rating DESC;

-- Reviews by rating
SELECT rating, count(*) AS n FROM reviews GROUP BY rating ORDER BY rating DESC;

-- Orders by coupon
SELECT coalesce(coupon, 'none') AS coupon, count(*), sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC;

-- Return rate by brand
SELECT p.brand, avg(CASE WHEN i.returned THEN 1.0 ELSE 0 END) AS return_rate
FROM order_items i JOIN products p USING (product_id) GROUP BY p.brand ORDER BY p.brand;

-- Orders by age group
SELECT CASE WHEN c.birth_date > '1994-12-31' THEN 'under 30'
            WHEN c.birth_date > '1974-12-31' THEN '30-49'
            WHEN c.birth_date IS NULL THEN 'unknown'
            ELSE '50+' END AS age_group,
       count(*) AS orders, sum(o.total) AS revenue
FROM orders o JOIN customers c ON c.customer_id = o.customer_id
GROUP BY age_group
ORDER BY revenue DESC;

-- Customers by e-mail provider
SELECT split_part(email, '@', 2) AS provider, count(*) FROM customers GROUP BY provider ORDER BY count(*) DESC;

-- Events by device and kind
SELECT device, kind, count(*) FROM events GROUP BY device, kind ORDER BY device, kind;

-- Revenue by currency
SELECT co.currency, sum(p.amount) FROM payments p JOIN customers c ON c.customer_id = p.customer_id JOIN countries co ON co.code = c.country GROUP BY co.currency;

-- Orders by size of basket
SELECT n AS items, count(*) AS orders FROM (SELECT order_id, count(*) AS n FROM order_items GROUP BY order_id) s GROUP BY n ORDER BY n;

-- Orders by shipping country for countries with more than 500
SELECT ship_country, count(*) FROM orders GROUP BY ship_country HAVING count(*) > 500 ORDER BY 2 DESC;

-- Product performance: name, brand, units, revenue
SELECT p.product_id, p.name, p.brand, sum(i.quantity) AS units, sum(i.quantity * i.unit_price) AS gross
FROM products p JOIN order_items i ON i.product_id = p.product_id
GROUP BY p.product_id
ORDER BY p.product_id;

-- Parent categories
SELECT coalesce(parent.name, c.name) AS top_category, sum(i.quantity) AS units
FROM order_items i
JOIN products p ON p.product_id = i.product_id
JOIN categories c ON c.category_id = p.category_id
LEFT JOIN categories parent ON parent.category_id = c.parent_id
GROUP BY 1
ORDER BY 2 DESC;

-- Orders delivered to another country than the customer's
SELECT c.country, count(*) AS abroad
FROM orders o JOIN customers c USING (customer_id)
WHERE o.ship_country <> c.country
GROUP BY c.country ORDER BY c.country;

-- Subtotals by channel and status
SELECT channel, status, count(*), sum(total) FROM orders GROUP BY ROLLUP (channel, status) ORDER BY channel NULLS LAST, status NULLS LAST;

-- Free or paid shipping
SELECT shipping_fee > 0 AS paid_shipping, count(*), avg(total) FROM orders GROUP BY 1;

# Over time

-- Orders per month
SELECT date_trunc('month', ordered_at) AS month, count(*) AS orders, sum(total) AS revenue
FROM orders
GROUP BY 1
ORDER BY 1;

-- Revenue per month of 2024
SELECT date_trunc('month', ordered_at)::date AS month, sum(total) AS revenue
FROM orders
WHERE ordered_at >= '2024-01-01' AND ordered_at < '2025-01-01'
GROUP BY month
ORDER BY month;

-- Orders per year and quarter
SELECT extract(year FROM ordered_at) AS year, extract(quarter FROM ordered_at) AS quarter, count(*)
FROM orders GROUP BY year, quarter ORDER BY year, quarter;

-- Orders per quarter of 2023
SELECT 'Q' || extract(quarter FROM ordered_at) AS quarter, sum(total)
FROM orders WHERE extract(year FROM ordered_at) = 2023 GROUP BY 1 ORDER BY 1;

-- Orders by day of the week
SELECT to_char(ordered_at, 'Dy') AS weekday, count(*) FROM orders GROUP BY 1, extract(isodow FROM ordered_at) ORDER BY extract(isodow FROM ordered_at);

-- Orders by hour of the day
SELECT extract(hour FROM ordered_at) AS hour, count(*) FROM orders GROUP BY hour ORDER BY hour;

-- Sign-ups per month
SELECT to_char(signed_up, 'YYYY-MM') AS month, count(*) AS signups FROM customers GROUP BY 1 ORDER BY 1;

-- Daily orders in December 2024
SELECT ordered_at::date AS day, count(*) FROM orders WHERE ordered_at BETWEEN '2024-12-01' AND '2024-12-31 23:59:59' GROUP BY day ORDER BY day;

-- Daily orders with a spine, so that empty days show 0
SELECT d::date AS day, count(o.order_id) AS orders
FROM generate_series('2024-11-01'::date, '2024-11-30'::date, interval '1 day') d
LEFT JOIN orders o ON o.ordered_at::date = d::date
GROUP BY d ORDER BY d;

-- Monthly revenue with a spine of months
WITH months AS (
  SELECT generate_series(date '2023-01-01', date '2024-12-01', interval '1 month') AS month
)
SELECT m.month::date, coalesce(sum(o.total), 0) AS revenue
FROM months m
LEFT JOIN orders o ON date_trunc('month', o.ordered_at) = m.month AND o.status <> 'cancelled'
GROUP BY m.month
ORDER BY m.month;

-- Orders by month number, all twelve of them
SELECT m.n AS month, count(o.order_id) AS orders
FROM generate_series(1, 12) AS m(n) LEFT JOIN orders o ON extract(month FROM o.ordered_at) = m.n
GROUP BY m.n ORDER BY m.n;

-- Weekly active customers in the fourth quarter
SELECT date_trunc('week', at) AS week, count(DISTINCT customer_id) AS active
FROM events WHERE at >= '2024-10-01' AND at < '2025-01-01' GROUP BY 1 ORDER BY 1;

-- Payments of the last 90 days of the year
SELECT paid_at::date AS day, sum(amount) FROM payments WHERE paid_at >= date '2024-12-31' - interval '90 days' GROUP BY 1 ORDER BY 1;

-- New reviews and their average per month in 2024
SELECT date_trunc('month', reviewed_on) AS month, count(*), avg(rating)
FROM reviews WHERE reviewed_on >= DATE '2024-01-01' GROUP BY date_trunc('month', reviewed_on) ORDER BY 1;

-- Half-hour buckets of events on one day
SELECT date_bin('30 minutes', at, '2024-01-01') AS slot, count(*) FROM events WHERE at >= '2024-09-10' AND at < '2024-09-11' GROUP BY slot ORDER BY slot;

-- Orders by month and channel
SELECT to_char(date_trunc('month', ordered_at), 'Mon YYYY') AS month, channel, count(*)
FROM orders WHERE ordered_at >= '2024-06-01'
GROUP BY date_trunc('month', ordered_at), channel
ORDER BY date_trunc('month', ordered_at), channel;

-- Shipping time by month of order
SELECT date_trunc('month', ordered_at) AS month, avg(delivered_at - ordered_at) AS lead_time
FROM orders WHERE delivered_at IS NOT NULL GROUP BY 1 ORDER BY 1;

-- Revenue per week as Superset asks it
SELECT DATE_TRUNC('week', ordered_at) AS __timestamp, sum(total) AS "SUM(total)"
FROM public.orders
WHERE ordered_at >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND ordered_at < TO_TIMESTAMP('2024-07-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('week', ordered_at)
ORDER BY "SUM(total)" DESC
LIMIT 10000;

-- Revenue by month as Metabase asks it
SELECT DATE_TRUNC('month', "public"."orders"."ordered_at") AS "ordered_at", SUM("public"."orders"."total") AS "sum"
FROM "public"."orders"
WHERE ("public"."orders"."ordered_at" >= timestamp with time zone '2024-01-01 00:00:00.000Z')
   AND ("public"."orders"."ordered_at" < timestamp with time zone '2024-07-01 00:00:00.000Z')
GROUP BY DATE_TRUNC('month', "public"."orders"."ordered_at")
ORDER BY DATE_TRUNC('month', "public"."orders"."ordered_at") ASC;

-- Events per month as Cube asks it
SELECT date_trunc('month', ("events".at::timestamptz AT TIME ZONE 'UTC')) "events__at_month", count(*) "events__count"
FROM public.events AS "events"
WHERE ("events".at >= '2024-07-01T00:00:00.000Z'::timestamptz AND "events".at <= '2024-12-31T23:59:59.999Z'::timestamptz)
GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

# Top n

-- Five best-selling products
SELECT p.name, sum(i.quantity) AS units
FROM order_items i JOIN products p ON p.product_id = i.product_id
GROUP BY p.product_id, p.name
ORDER BY units DESC, p.name
LIMIT 5;

-- Ten products by revenue
SELECT product_id, sum(amount) AS revenue FROM order_lines GROUP BY product_id ORDER BY revenue DESC LIMIT 10;

-- Units of the ten dearest products
SELECT p.name, sum(i.quantity) FROM order_items i JOIN (SELECT product_id, name FROM products ORDER BY list_price DESC, product_id LIMIT 10) p ON p.product_id = i.product_id GROUP BY p.name ORDER BY p.name;

-- Orders with one of the five newest products
SELECT count(DISTINCT order_id) FROM order_items WHERE product_id = ANY (ARRAY(SELECT product_id FROM products ORDER BY launched DESC, product_id LIMIT 5));

-- The three countries with the highest average order value
SELECT co.name, avg(o.total) AS aov FROM orders o JOIN countries co ON co.code = o.ship_country GROUP BY co.name ORDER BY aov DESC LIMIT 3;

-- The best product of every category
SELECT category, product, revenue FROM (
  SELECT c.name AS category, p.name AS product, sum(i.quantity * i.unit_price) AS revenue,
         row_number() OVER (PARTITION BY c.name ORDER BY sum(i.quantity * i.unit_price) DESC) AS rn
  FROM order_items i JOIN products p USING (product_id) JOIN categories c USING (category_id)
  GROUP BY c.name, p.name) ranked
WHERE rn = 1
ORDER BY category;

-- Top two channels in each region
WITH r AS (
  SELECT co.region, o.channel, count(*) AS n FROM orders o JOIN countries co ON co.code = o.ship_country GROUP BY 1, 2
)
SELECT * FROM (SELECT r.*, rank() OVER (PARTITION BY region ORDER BY n DESC) AS rk FROM r) t WHERE rk <= 2 ORDER BY region, rk;

-- The month with most orders
SELECT date_trunc('month', ordered_at) AS m, count(*) FROM orders GROUP BY m ORDER BY count(*) DESC LIMIT 1;

-- Which brand has the worst reviews?
SELECT p.brand, avg(r.rating) FROM reviews r JOIN products p USING (product_id) GROUP BY p.brand ORDER BY avg(r.rating) LIMIT 1;

-- Our ten best customers
-- refused: it names people
SELECT c.full_name, sum(o.total) AS spent FROM customers c JOIN orders o USING (customer_id) GROUP BY c.customer_id, c.full_name ORDER BY spent DESC LIMIT 10;

-- The largest orders
-- refused: an order is one customer's
SELECT order_id, total FROM orders ORDER BY total DESC LIMIT 20;

-- Monthly orders of the five best categories, as a series limit
SELECT date_trunc('month', o.ordered_at) AS month, cat.name, sum(i.quantity) AS units
FROM order_items i
JOIN orders o ON o.order_id = i.order_id AND o.customer_id = i.customer_id
JOIN products p ON p.product_id = i.product_id
JOIN categories cat ON cat.category_id = p.category_id
JOIN (SELECT cat.name AS top, sum(i.quantity) AS u FROM order_items i JOIN products p USING (product_id) JOIN categories cat USING (category_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 3) t ON t.top = cat.name
WHERE o.ordered_at >= '2024-10-01'
GROUP BY 1, 2 ORDER BY 1, 2;

-- Slowest countries to deliver to
SELECT ship_country, avg(extract(day FROM delivered_at - ordered_at)) AS days FROM orders WHERE delivered_at IS NOT NULL GROUP BY ship_country ORDER BY days DESC LIMIT 3;
