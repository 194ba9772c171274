# Ratios and shares

-- Cancellation rate
SELECT 100.0 * count(*) FILTER (WHERE status = 'cancelled') / count(*) AS cancelled_pct FROM orders;

-- Cancellation rate by channel
SELECT channel, round(100.0 * sum(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END) / count(*), 1) AS pct FROM orders GROUP BY channel ORDER BY pct DESC, channel;

-- Share of each channel in revenue
SELECT channel, sum(total) / sum(sum(total)) OVER () AS share FROM orders GROUP BY channel ORDER BY share DESC;

-- Share of each category in its department
SELECT c.department, c.name, sum(l.amount) AS revenue,
       round(100 * sum(l.amount) / sum(sum(l.amount)) OVER (PARTITION BY c.department), 1) AS pct
FROM order_lines l JOIN categories c ON c.category_id = l.category_id
GROUP BY c.department, c.name ORDER BY c.department, pct DESC;

-- What part of the customers has ordered?
SELECT count(DISTINCT o.customer_id)::float / count(DISTINCT c.customer_id) AS ordered
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id;

-- The same with two subqueries
SELECT (SELECT count(DISTINCT customer_id) FROM orders) * 1.0 / (SELECT count(*) FROM customers) AS ordered;

-- Revenue per customer by country
SELECT c.country, sum(o.total) / count(DISTINCT c.customer_id) AS revenue_per_customer
FROM customers c JOIN orders o ON o.customer_id = c.customer_id
GROUP BY c.country ORDER BY 2 DESC;

-- Average items per order
SELECT sum(quantity)::numeric / count(DISTINCT order_id) AS items_per_order FROM order_items;

-- Discount given as part of gross sales, by department
SELECT c.department, sum(i.quantity * i.unit_price * i.discount) / nullif(sum(i.quantity * i.unit_price), 0) AS discount_rate
FROM order_items i JOIN products p USING (product_id) JOIN categories c USING (category_id)
GROUP BY c.department;

-- Newsletter share by segment
SELECT segment, avg(newsletter::int) AS share FROM customers GROUP BY segment ORDER BY segment;

-- Mobile share of purchases
SELECT avg((device = 'mobile')::int) AS mobile_share FROM events WHERE kind = 'purchase';

-- Share of orders that used a coupon, per month of 2024
SELECT date_trunc('month', ordered_at) AS m, count(coupon)::decimal / count(*) AS coupon_rate
FROM orders WHERE ordered_at >= '2024-01-01' GROUP BY m ORDER BY m;

-- Ratio of shipping fees to revenue by country
SELECT ship_country, sum(shipping_fee) / sum(total) AS ratio FROM orders GROUP BY ship_country ORDER BY ratio DESC;

-- Share of repeat customers
WITH per_customer AS (SELECT customer_id, count(*) AS orders FROM orders GROUP BY customer_id)
SELECT count(*) FILTER (WHERE orders > 1)::float8 / count(*) AS repeat_rate FROM per_customer;

-- Five-star share by brand
SELECT p.brand, count(*) FILTER (WHERE r.rating = 5) * 100 / count(*) AS pct_five
FROM reviews r JOIN products p ON p.product_id = r.product_id GROUP BY p.brand ORDER BY 2 DESC, 1;

-- Is the conversion better on the desktop?
SELECT device, count(*) FILTER (WHERE kind = 'purchase')::numeric / nullif(count(*) FILTER (WHERE kind = 'visit'), 0) AS conversion
FROM events GROUP BY device ORDER BY conversion DESC;

-- Average unit price paid against list price, by brand
SELECT p.brand, avg(i.unit_price * (1 - i.discount)) / avg(p.list_price) AS paid_of_list
FROM order_items i JOIN products p USING (product_id) GROUP BY p.brand ORDER BY p.brand;

-- Pareto: the share of revenue by the top 20 products
SELECT sum(revenue) FILTER (WHERE rk <= 20) / sum(revenue) AS top20
FROM (SELECT product_id, sum(amount) AS revenue, row_number() OVER (ORDER BY sum(amount) DESC) AS rk FROM order_lines GROUP BY product_id) t;

# Per-person behaviour

-- Average number of orders per ordering customer
SELECT avg(n) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) s;

-- Average number of orders per customer, with those who have none
SELECT avg(n) FROM (SELECT c.customer_id, count(o.order_id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id GROUP BY c.customer_id) s;

-- How many customers have ordered how often?
SELECT orders, count(*) AS customers
FROM (SELECT customer_id, count(*) AS orders FROM orders GROUP BY customer_id) t
GROUP BY orders ORDER BY orders;

-- Customer lifetime value by segment
SELECT c.segment, avg(coalesce(v.spent, 0)) AS ltv
FROM customers c LEFT JOIN (SELECT customer_id, sum(amount) AS spent FROM payments GROUP BY customer_id) v ON v.customer_id = c.customer_id
GROUP BY c.segment ORDER BY ltv DESC;

-- Customers who spent more than 5000
SELECT count(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING sum(total) > 5000) big;

-- Customers with more than five orders by country
SELECT c.country, count(*) FROM customers c
WHERE c.customer_id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 5)
GROUP BY c.country ORDER BY c.country;

-- Average days between orders of a customer
SELECT avg(extract(epoch FROM gap) / 86400) AS days
FROM (SELECT ordered_at - lag(ordered_at) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS gap FROM orders) g
WHERE gap IS NOT NULL;

-- Days from signing up to the first order
SELECT avg(first_order::date - signed_up::date) AS days
FROM customers c JOIN (SELECT customer_id, min(ordered_at) AS first_order FROM orders GROUP BY customer_id) f ON f.customer_id = c.customer_id
WHERE first_order >= signed_up;

-- First order value against later ones
SELECT n = 1 AS first_order, avg(total)
FROM (SELECT total, row_number() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS n FROM orders) s
GROUP BY 1 ORDER BY 1;

-- Channel of the first order
SELECT channel, count(*) FROM (
  SELECT DISTINCT ON (customer_id) customer_id, channel FROM orders ORDER BY customer_id, ordered_at
) f GROUP BY channel ORDER BY channel;

-- Which part of their spending do customers pay by card?
SELECT avg(card / nullif(total, 0)) FROM (
  SELECT customer_id, sum(amount) FILTER (WHERE method = 'card') AS card, sum(amount) AS total FROM payments GROUP BY customer_id) s;

-- Customers who bought books and toys
SELECT count(*) FROM customers c
WHERE EXISTS (SELECT 1 FROM order_lines l WHERE l.customer_id = c.customer_id AND l.category_id = 4)
  AND EXISTS (SELECT 1 FROM order_lines l WHERE l.customer_id = c.customer_id AND l.category_id = 5);

-- Customers who bought phones but never laptops
SELECT count(DISTINCT l.customer_id)
FROM order_lines l
WHERE l.category_id = 2
  AND l.customer_id NOT IN (SELECT customer_id FROM order_lines WHERE category_id = 3);

-- Average basket of customers who get the newsletter
SELECT c.newsletter, avg(o.total) FROM customers c JOIN orders o USING (customer_id) GROUP BY c.newsletter;

-- Number of distinct categories that a customer buys from
SELECT categories, count(*) FROM (SELECT customer_id, count(DISTINCT category_id) AS categories FROM order_lines GROUP BY customer_id) s GROUP BY categories ORDER BY categories;

-- Largest order of each customer, averaged by segment
SELECT c.segment, avg(m.largest) FROM customers c
JOIN LATERAL (SELECT max(o.total) AS largest FROM orders o WHERE o.customer_id = c.customer_id) m ON true
GROUP BY c.segment;

-- Average time from sign-up to the latest event
SELECT avg(last_seen - c.signed_up) FROM customers c JOIN (SELECT customer_id, max(at) AS last_seen FROM events GROUP BY customer_id) e USING (customer_id);

-- Events per session
SELECT avg(n) FROM (SELECT session_id, count(*) AS n FROM events GROUP BY session_id) s;

-- Average session length in minutes by device
SELECT device, avg(extract(epoch FROM length) / 60) AS minutes
FROM (SELECT customer_id, session_id, device, max(at) - min(at) AS length FROM events GROUP BY customer_id, session_id, device) s
GROUP BY device ORDER BY device;

-- RFM: how recent, how often, how much
WITH rfm AS (
  SELECT customer_id, date '2025-01-01' - max(ordered_at)::date AS recency, count(*) AS frequency, sum(total) AS monetary
  FROM orders GROUP BY customer_id
)
SELECT CASE WHEN recency <= 60 THEN 'active' WHEN recency <= 180 THEN 'cooling' ELSE 'lost' END AS stage,
       count(*) AS customers, avg(frequency) AS frequency, avg(monetary) AS monetary
FROM rfm GROUP BY stage ORDER BY stage;

-- Customers who referred somebody who ordered
SELECT count(DISTINCT r.referred_by) FROM customers r JOIN orders o ON o.customer_id = r.customer_id WHERE r.referred_by IS NOT NULL;

-- How many orders do referred customers place?
SELECT c.referred_by IS NOT NULL AS referred, count(o.order_id)::float / count(DISTINCT c.customer_id) AS orders_per_customer
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id GROUP BY 1 ORDER BY 1;

-- What did customer 77 order?
-- refused: it asks for one person's rows
SELECT * FROM orders WHERE customer_id = 77;

-- Total of every customer
-- refused: every row is one person's
SELECT customer_id, count(*), sum(total) FROM orders GROUP BY customer_id;

# Cohorts and retention

-- Customers by month of the first order
SELECT date_trunc('month', first_order) AS cohort, count(*) AS customers
FROM (SELECT customer_id, min(ordered_at) AS first_order FROM orders GROUP BY customer_id) f
GROUP BY 1 ORDER BY 1;

-- Cohort by first order and months since
WITH firsts AS (SELECT customer_id, min(ordered_at) AS first_order FROM orders GROUP BY customer_id)
SELECT date_trunc('quarter', f.first_order) AS cohort,
       (extract(year FROM o.ordered_at) - extract(year FROM f.first_order)) * 4 + extract(quarter FROM o.ordered_at) - extract(quarter FROM f.first_order) AS quarters_since,
       count(DISTINCT o.customer_id) AS customers
FROM firsts f JOIN orders o ON o.customer_id = f.customer_id
GROUP BY 1, 2 ORDER BY 1, 2;

-- Did those who bought in the first quarter of 2024 come back in the second?
SELECT count(DISTINCT q1.customer_id) AS q1, count(DISTINCT q2.customer_id) AS came_back
FROM orders q1
LEFT JOIN orders q2 ON q2.customer_id = q1.customer_id AND q2.ordered_at >= '2024-04-01' AND q2.ordered_at < '2024-07-01'
WHERE q1.ordered_at >= '2024-01-01' AND q1.ordered_at < '2024-04-01';

-- Second order within 30 days of the first
WITH ranked AS (
  SELECT customer_id, ordered_at, row_number() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS rn FROM orders
)
SELECT count(*) FROM ranked a JOIN ranked b ON b.customer_id = a.customer_id AND b.rn = 2
WHERE a.rn = 1 AND b.ordered_at <= a.ordered_at + interval '30 days';

-- Active in both halves of 2024
SELECT count(*) FROM customers c
WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.ordered_at >= '2024-01-01' AND o.ordered_at < '2024-07-01')
  AND EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.ordered_at >= '2024-07-01');

-- The same with INTERSECT
SELECT count(*) FROM (
  SELECT customer_id FROM orders WHERE ordered_at >= '2024-01-01' AND ordered_at < '2024-07-01'
  INTERSECT
  SELECT customer_id FROM orders WHERE ordered_at >= '2024-07-01') both_halves;

-- Month-over-month retention on the site
WITH active AS (SELECT DISTINCT customer_id, date_trunc('month', at) AS month FROM events)
SELECT a.month, count(*) AS active, count(b.customer_id) AS retained
FROM active a LEFT JOIN active b ON b.customer_id = a.customer_id AND b.month = a.month + interval '1 month'
GROUP BY a.month ORDER BY a.month;

-- Churned: ordered in 2023, not in 2024
SELECT count(DISTINCT customer_id) FROM orders
WHERE ordered_at < '2024-01-01' AND customer_id NOT IN (SELECT customer_id FROM orders WHERE ordered_at >= '2024-01-01');

-- The same with EXCEPT
SELECT count(*) FROM (SELECT customer_id FROM orders WHERE ordered_at < '2024-01-01' EXCEPT SELECT customer_id FROM orders WHERE ordered_at >= '2024-01-01') churned;

-- Sign-up cohorts: who has ordered at all?
SELECT date_trunc('quarter', c.signed_up) AS cohort, count(DISTINCT c.customer_id) AS signed_up, count(DISTINCT o.customer_id) AS ordered
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id
GROUP BY cohort ORDER BY cohort;

-- New and returning customers per month
WITH firsts AS (SELECT customer_id, min(ordered_at) AS first_at FROM orders GROUP BY 1)
SELECT date_trunc('month', o.ordered_at) AS month,
       count(DISTINCT o.customer_id) FILTER (WHERE date_trunc('month', f.first_at) = date_trunc('month', o.ordered_at)) AS new,
       count(DISTINCT o.customer_id) FILTER (WHERE date_trunc('month', f.first_at) < date_trunc('month', o.ordered_at)) AS returning
FROM orders o JOIN firsts f USING (customer_id)
GROUP BY 1 ORDER BY 1;

-- Average revenue per customer by sign-up year
SELECT extract(year FROM c.signed_up) AS year, sum(o.total) / count(DISTINCT c.customer_id) AS arpu
FROM customers c JOIN orders o USING (customer_id) GROUP BY year ORDER BY year;

# Never and missing

-- Customers who never ordered
SELECT count(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE o.order_id IS NULL;

-- The same with NOT EXISTS, by country
SELECT country, count(*) FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.customer_id) GROUP BY country ORDER BY country;

-- Products that were never sold
SELECT p.name FROM products p LEFT JOIN order_items i ON i.product_id = p.product_id WHERE i.order_id IS NULL ORDER BY p.name;

-- The same with NOT EXISTS
SELECT p.product_id, p.name FROM products p WHERE NOT EXISTS (SELECT 1 FROM order_items i WHERE i.product_id = p.product_id) ORDER BY p.product_id;

-- The same with NOT IN
SELECT name FROM products WHERE product_id NOT IN (SELECT product_id FROM order_items) ORDER BY name;

-- Countries without customers
SELECT co.name FROM countries co WHERE co.code NOT IN (SELECT country FROM customers);

-- Categories without a review
SELECT c.name FROM categories c WHERE NOT EXISTS (SELECT 1 FROM reviews r JOIN products p ON p.product_id = r.product_id WHERE p.category_id = c.category_id);

-- Number of products by whether they were sold in December 2024
SELECT count(*) FILTER (WHERE n > 0) AS sold, count(*) FILTER (WHERE n = 0) AS unsold
FROM (SELECT p.product_id, count(o.order_id) AS n FROM products p
      LEFT JOIN order_items i ON i.product_id = p.product_id
      LEFT JOIN orders o ON o.order_id = i.order_id AND o.customer_id = i.customer_id AND o.ordered_at >= '2024-12-01'
      GROUP BY p.product_id) s;

-- Orders without a payment
SELECT count(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.customer_id = o.customer_id AND p.order_id = o.order_id);

-- Carts that were not bought
SELECT count(DISTINCT session_id) FROM events e
WHERE kind = 'cart' AND NOT EXISTS (SELECT 1 FROM events x WHERE x.customer_id = e.customer_id AND x.session_id = e.session_id AND x.kind = 'purchase');

-- Customers with orders but no review
SELECT count(*) FROM (SELECT DISTINCT customer_id FROM orders) o LEFT JOIN (SELECT DISTINCT customer_id FROM reviews) r USING (customer_id) WHERE r.customer_id IS NULL;

-- Units of every category, with categories that sold nothing
SELECT c.name, coalesce(sum(i.quantity), 0) AS units
FROM categories c
LEFT JOIN products p ON p.category_id = c.category_id
LEFT JOIN order_items i ON i.product_id = p.product_id
GROUP BY c.name ORDER BY units DESC, c.name;

-- Customers per country, also where there are none
SELECT co.name, count(c.customer_id) AS customers FROM countries co LEFT JOIN customers c ON c.country = co.code GROUP BY co.code, co.name ORDER BY customers DESC, co.name;

-- Is every product reviewed?
SELECT count(*) AS products, (SELECT count(DISTINCT product_id) FROM reviews) AS reviewed FROM products;
