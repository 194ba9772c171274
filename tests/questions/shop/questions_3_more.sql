# Comparisons with averages

-- Orders above the average
SELECT count(*) FROM orders WHERE total > (SELECT avg(total) FROM orders);

-- Customers who spend more than the average customer
WITH spent AS (SELECT customer_id, sum(total) AS s FROM orders GROUP BY customer_id)
SELECT count(*) FROM spent WHERE s > (SELECT avg(s) FROM spent);

-- Products that sell more than the average product
SELECT name, units FROM (SELECT p.name, sum(i.quantity) AS units FROM products p JOIN order_items i USING (product_id) GROUP BY p.name) t
WHERE units > (SELECT avg(u) FROM (SELECT sum(quantity) AS u FROM order_items GROUP BY product_id) x)
ORDER BY units DESC, name;

-- Categories by distance from the average rating
SELECT c.name, avg(r.rating) - (SELECT avg(rating) FROM reviews) AS diff
FROM reviews r JOIN products p USING (product_id) JOIN categories c USING (category_id)
GROUP BY c.name ORDER BY diff DESC;

-- Orders above the average of their own channel
SELECT o.channel, count(*)
FROM orders o JOIN (SELECT channel, avg(total) AS mean FROM orders GROUP BY channel) a ON a.channel = o.channel
WHERE o.total > a.mean
GROUP BY o.channel ORDER BY o.channel;

-- The same with a correlated subquery
SELECT count(*) FROM orders o WHERE o.total > (SELECT avg(x.total) FROM orders x WHERE x.channel = o.channel);

-- How many orders were placed on the busiest day?
SELECT max(n) FROM (SELECT ordered_at::date, count(*) AS n FROM orders GROUP BY 1) d;

-- Months above the average month
WITH m AS (SELECT date_trunc('month', ordered_at) AS month, sum(total) AS revenue FROM orders GROUP BY 1)
SELECT month, revenue FROM m WHERE revenue > (SELECT avg(revenue) FROM m) ORDER BY month;

-- Orders on the last day that has any
SELECT count(*) FROM orders WHERE ordered_at::date = (SELECT max(ordered_at)::date FROM orders);

-- Orders larger than the same customer's average
SELECT count(*) FROM (SELECT total, avg(total) OVER (PARTITION BY customer_id) AS mean FROM orders) s WHERE total > mean;

-- Countries whose order value is above the overall one
SELECT ship_country FROM orders GROUP BY ship_country HAVING avg(total) > (SELECT avg(total) FROM orders) ORDER BY ship_country;

-- Products more expensive than the average product, and how often they sell
SELECT count(*) AS lines, sum(quantity) AS units FROM order_items i JOIN products p USING (product_id)
WHERE p.list_price > (SELECT avg(list_price) FROM products);

# Distributions

-- Histogram of order values in steps of 500
SELECT width_bucket(total, 0, 5000, 10) AS bucket, count(*) FROM orders GROUP BY bucket ORDER BY bucket;

-- Histogram with floor
SELECT floor(total / 250) * 250 AS from_value, count(*) AS orders FROM orders GROUP BY 1 ORDER BY 1;

-- Quartiles of order values
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY total) FROM orders;

-- Median order by channel
SELECT channel, percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS median FROM orders GROUP BY channel ORDER BY channel;

-- Standard deviation of payments by method
SELECT method, stddev(amount), variance(amount) FROM payments GROUP BY method ORDER BY method;

-- Distribution of customers by birth decade
SELECT extract(decade FROM birth_date) * 10 AS decade, count(*) FROM customers WHERE birth_date IS NOT NULL GROUP BY 1 ORDER BY 1;

-- Distribution of credit limits
SELECT CASE WHEN credit_limit < 1000 THEN '0-1k' WHEN credit_limit < 2500 THEN '1k-2.5k' WHEN credit_limit >= 2500 THEN '2.5k+' ELSE 'none' END AS band, count(*), avg(credit_limit)
FROM customers GROUP BY 1 ORDER BY 1;

-- Ages in ten-year bands
SELECT (date_part('year', age('2024-12-31', birth_date))::int / 10) * 10 AS band, count(*) FROM customers WHERE birth_date IS NOT NULL GROUP BY band ORDER BY band;

-- Discounts given
SELECT discount, count(*) FROM order_items GROUP BY discount ORDER BY discount;

-- Delivery time in days
SELECT delivered_at::date - ordered_at::date AS days, count(*) FROM orders WHERE delivered_at IS NOT NULL GROUP BY days ORDER BY days;

-- Does a larger basket get a larger discount?
SELECT corr(quantity, discount) FROM order_items;

-- Price against rating
SELECT corr(p.list_price, r.rating), regr_slope(r.rating, p.list_price) FROM reviews r JOIN products p USING (product_id);

-- The most frequent number of instalments
SELECT mode() WITHIN GROUP (ORDER BY installments) FROM payments;

-- 90th percentile of delivery hours by country
SELECT ship_country, percentile_disc(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM delivered_at - ordered_at) / 3600) AS p90
FROM orders WHERE delivered_at IS NOT NULL GROUP BY ship_country ORDER BY ship_country;

-- Deciles of customers by spending
SELECT decile, count(*), min(spent), max(spent)
FROM (SELECT customer_id, sum(total) AS spent, ntile(10) OVER (ORDER BY sum(total)) AS decile FROM orders GROUP BY customer_id) t
GROUP BY decile ORDER BY decile;

# Funnels

-- Events by step
SELECT kind, count(*) AS events, count(DISTINCT customer_id) AS people FROM events GROUP BY kind ORDER BY events DESC;

-- Sessions that reach every step
SELECT count(DISTINCT session_id) FILTER (WHERE kind = 'visit') AS visits,
       count(DISTINCT session_id) FILTER (WHERE kind = 'cart') AS carts,
       count(DISTINCT session_id) FILTER (WHERE kind = 'purchase') AS purchases
FROM events;

-- Funnel by device with a session as unit
WITH s AS (
  SELECT session_id, device, bool_or(kind = 'view') AS viewed, bool_or(kind = 'cart') AS carted, bool_or(kind = 'purchase') AS bought
  FROM events GROUP BY session_id, device
)
SELECT device, count(*) AS sessions, sum(viewed::int) AS viewed, sum(carted::int) AS carted, sum(bought::int) AS bought,
       round(100.0 * sum(bought::int) / count(*), 1) AS conversion
FROM s GROUP BY device ORDER BY device;

-- Funnel of customers: signed up, ordered, ordered again
SELECT count(*) AS signed_up, count(*) FILTER (WHERE n >= 1) AS ordered, count(*) FILTER (WHERE n >= 2) AS again
FROM (SELECT c.customer_id, count(o.order_id) AS n FROM customers c LEFT JOIN orders o USING (customer_id) GROUP BY c.customer_id) t;

-- Funnel with UNION ALL
SELECT 1 AS step, 'visit' AS name, count(DISTINCT customer_id) AS people FROM events WHERE kind = 'visit'
UNION ALL SELECT 2, 'cart', count(DISTINCT customer_id) FROM events WHERE kind = 'cart'
UNION ALL SELECT 3, 'purchase', count(DISTINCT customer_id) FROM events WHERE kind = 'purchase'
ORDER BY step;

-- Time from cart to purchase
SELECT avg(p.at - c.at) FROM events c JOIN events p ON p.customer_id = c.customer_id AND p.session_id = c.session_id AND p.kind = 'purchase' WHERE c.kind = 'cart';

-- Last step of every session
SELECT last_kind, count(*) FROM (
  SELECT DISTINCT ON (customer_id, session_id) kind AS last_kind FROM events ORDER BY customer_id, session_id, at DESC
) s GROUP BY last_kind ORDER BY count(*) DESC;

-- Bounce rate: sessions with a single event
SELECT avg(CASE WHEN n = 1 THEN 1.0 ELSE 0.0 END) AS bounce_rate FROM (SELECT session_id, count(*) AS n FROM events GROUP BY session_id) s;

-- Order funnel by month
SELECT date_trunc('month', ordered_at) AS month, count(*) AS placed, count(shipped_at) AS shipped, count(delivered_at) AS delivered,
       count(*) FILTER (WHERE status = 'returned') AS returned
FROM orders WHERE ordered_at >= '2024-07-01' GROUP BY 1 ORDER BY 1;

# Pivots

-- Orders by month and status, a column for each
SELECT date_trunc('month', ordered_at)::date AS month,
       count(*) FILTER (WHERE status = 'delivered') AS delivered,
       count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
       count(*) FILTER (WHERE status = 'returned') AS returned
FROM orders GROUP BY 1 ORDER BY 1;

-- Revenue by channel in 2023 and 2024
SELECT channel,
       sum(CASE WHEN extract(year FROM ordered_at) = 2023 THEN total END) AS y2023,
       sum(CASE WHEN extract(year FROM ordered_at) = 2024 THEN total END) AS y2024
FROM orders GROUP BY channel ORDER BY channel;

-- Customers by country and segment, a column for each segment
SELECT country, sum((segment = 'consumer')::int) AS consumer, sum((segment = 'corporate')::int) AS corporate, sum((segment = 'home office')::int) AS home_office, count(*) AS total
FROM customers GROUP BY country ORDER BY country;

-- Payment methods by region
SELECT co.region, count(*) FILTER (WHERE p.method = 'card') AS card, count(*) FILTER (WHERE p.method = 'paypal') AS paypal, count(*) FILTER (WHERE p.method = 'invoice') AS invoice
FROM payments p JOIN customers c USING (customer_id) JOIN countries co ON co.code = c.country GROUP BY co.region ORDER BY co.region;

-- Units by department and quarter of 2024
SELECT cat.department,
       sum(i.quantity) FILTER (WHERE o.ordered_at < '2024-04-01') AS q1,
       sum(i.quantity) FILTER (WHERE o.ordered_at >= '2024-04-01' AND o.ordered_at < '2024-07-01') AS q2,
       sum(i.quantity) FILTER (WHERE o.ordered_at >= '2024-07-01' AND o.ordered_at < '2024-10-01') AS q3,
       sum(i.quantity) FILTER (WHERE o.ordered_at >= '2024-10-01') AS q4
FROM orders o JOIN order_items i ON i.order_id = o.order_id AND i.customer_id = o.customer_id
JOIN products p ON p.product_id = i.product_id JOIN categories cat ON cat.category_id = p.category_id
WHERE o.ordered_at >= '2024-01-01'
GROUP BY cat.department ORDER BY cat.department;

-- Average rating by brand and year
SELECT p.brand, avg(r.rating) FILTER (WHERE r.reviewed_on < '2024-01-01') AS r2023, avg(r.rating) FILTER (WHERE r.reviewed_on >= '2024-01-01') AS r2024
FROM reviews r JOIN products p ON p.product_id = r.product_id GROUP BY p.brand ORDER BY p.brand;

-- Sales by weekday and channel
SELECT extract(isodow FROM ordered_at) AS dow, sum(CASE channel WHEN 'web' THEN total ELSE 0 END) AS web, sum(CASE channel WHEN 'app' THEN total ELSE 0 END) AS app
FROM orders GROUP BY dow ORDER BY dow;

# Running totals and moving averages

-- Cumulative revenue by month
SELECT month, revenue, sum(revenue) OVER (ORDER BY month) AS running
FROM (SELECT date_trunc('month', ordered_at) AS month, sum(total) AS revenue FROM orders GROUP BY 1) m ORDER BY month;

-- In one query
SELECT date_trunc('month', ordered_at) AS month, sum(sum(total)) OVER (ORDER BY date_trunc('month', ordered_at)) AS running FROM orders GROUP BY 1 ORDER BY 1;

-- Three-month moving average of orders
WITH m AS (SELECT date_trunc('month', ordered_at) AS month, count(*) AS n FROM orders GROUP BY 1)
SELECT month, n, avg(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM m ORDER BY month;

-- Seven-day moving average in November 2024
SELECT day, n, round(avg(n) OVER (ORDER BY day ROWS 6 PRECEDING), 2) AS avg7
FROM (SELECT ordered_at::date AS day, count(*) AS n FROM orders WHERE ordered_at >= '2024-11-01' AND ordered_at < '2024-12-01' GROUP BY 1) d ORDER BY day;

-- Cumulative customers by sign-up month
SELECT date_trunc('month', signed_up) AS month, count(*) AS new, sum(count(*)) OVER (ORDER BY date_trunc('month', signed_up)) AS total FROM customers GROUP BY 1 ORDER BY 1;

-- Cumulative share of products by revenue
SELECT product_id, revenue, sum(revenue) OVER (ORDER BY revenue DESC) / sum(revenue) OVER () AS cumulative
FROM (SELECT product_id, sum(amount) AS revenue FROM order_lines GROUP BY product_id) t ORDER BY revenue DESC LIMIT 10;

-- Month to date of each channel
SELECT channel, day, sum(n) OVER (PARTITION BY channel ORDER BY day) AS mtd
FROM (SELECT channel, ordered_at::date AS day, count(*) AS n FROM orders WHERE ordered_at >= '2024-12-01' GROUP BY 1, 2) d
ORDER BY channel, day;

-- Running number of a customer's orders, averaged
SELECT avg(running) FROM (SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS running FROM orders) s;

# Year over year and month over month

-- Growth by month
WITH m AS (SELECT date_trunc('month', ordered_at) AS month, sum(total) AS revenue FROM orders GROUP BY 1)
SELECT month, revenue, round(100 * (revenue - lag(revenue) OVER (ORDER BY month)) / lag(revenue) OVER (ORDER BY month), 1) AS growth_pct FROM m ORDER BY month;

-- Same month of last year
WITH m AS (SELECT extract(year FROM ordered_at) AS y, extract(month FROM ordered_at) AS mo, sum(total) AS revenue FROM orders GROUP BY 1, 2)
SELECT a.mo AS month, b.revenue AS last_year, a.revenue AS this_year, a.revenue / b.revenue - 1 AS growth
FROM m a JOIN m b ON b.mo = a.mo AND b.y = a.y - 1 ORDER BY a.mo;

-- Year over year with lag of twelve
SELECT month, n, n - lag(n, 12) OVER (ORDER BY month) AS change FROM (SELECT date_trunc('month', ordered_at) AS month, count(*) AS n FROM orders GROUP BY 1) t ORDER BY month;

-- 2024 against 2023 by country
SELECT co.name,
       sum(o.total) FILTER (WHERE o.ordered_at >= '2024-01-01') AS this_year,
       sum(o.total) FILTER (WHERE o.ordered_at < '2024-01-01') AS last_year,
       sum(o.total) FILTER (WHERE o.ordered_at >= '2024-01-01') / sum(o.total) FILTER (WHERE o.ordered_at < '2024-01-01') - 1 AS growth
FROM orders o JOIN countries co ON co.code = o.ship_country
GROUP BY co.name ORDER BY growth DESC;

-- Quarter over quarter by department
SELECT department, quarter, units, lag(units) OVER (PARTITION BY department ORDER BY quarter) AS before
FROM (SELECT c.department, date_trunc('quarter', o.ordered_at) AS quarter, sum(i.quantity) AS units
      FROM order_items i JOIN orders o USING (order_id, customer_id) JOIN products p USING (product_id) JOIN categories c USING (category_id)
      GROUP BY 1, 2) q
ORDER BY department, quarter;

-- Difference between two Decembers
SELECT (SELECT sum(total) FROM orders WHERE ordered_at >= '2024-12-01' AND ordered_at < '2025-01-01') - (SELECT sum(total) FROM orders WHERE ordered_at >= '2023-12-01' AND ordered_at < '2024-01-01') AS change;

-- Best month of each year
SELECT DISTINCT ON (year) year, month, revenue
FROM (SELECT extract(year FROM ordered_at) AS year, extract(month FROM ordered_at) AS month, sum(total) AS revenue FROM orders GROUP BY 1, 2) m
ORDER BY year, revenue DESC;

# Joins of several tables

-- Revenue by customer segment and product department
SELECT c.segment, cat.department, sum(i.quantity * i.unit_price * (1 - i.discount)) AS revenue
FROM customers c
JOIN order_items i ON i.customer_id = c.customer_id
JOIN products p ON p.product_id = i.product_id
JOIN categories cat ON cat.category_id = p.category_id
GROUP BY c.segment, cat.department ORDER BY c.segment, cat.department;

-- Orders and their items, joined on the order alone
SELECT o.channel, sum(i.quantity) AS units FROM orders o JOIN order_items i ON i.order_id = o.order_id GROUP BY o.channel ORDER BY o.channel;

-- What women in Germany buy, by category
SELECT cat.name, count(*) FROM order_items i
JOIN customers c ON c.customer_id = i.customer_id
JOIN products p ON p.product_id = i.product_id
JOIN categories cat ON cat.category_id = p.category_id
WHERE c.gender = 'f' AND c.country = 'DE'
GROUP BY cat.name ORDER BY count(*) DESC, cat.name;

-- Ratings by customers who returned the product
SELECT i.returned, avg(r.rating), count(*) FROM reviews r JOIN order_items i ON i.customer_id = r.customer_id AND i.product_id = r.product_id GROUP BY i.returned ORDER BY 1;

-- Payments that do not match their orders
SELECT count(*) FROM payments p JOIN orders o ON o.order_id = p.order_id AND o.customer_id = p.customer_id WHERE p.amount <> o.total + o.shipping_fee;

-- Average order value by first channel of the customer
SELECT f.channel, avg(o.total) FROM orders o
JOIN (SELECT DISTINCT ON (customer_id) customer_id, channel FROM orders ORDER BY customer_id, ordered_at, order_id) f ON f.customer_id = o.customer_id
GROUP BY f.channel ORDER BY f.channel;

-- Orders by whether the customer has left a review
SELECT EXISTS (SELECT 1 FROM reviews r WHERE r.customer_id = o.customer_id) AS reviewer, count(*), avg(o.total) FROM orders o GROUP BY 1 ORDER BY 1;

-- Revenue of products launched after 2021
SELECT p.brand, sum(i.quantity * i.unit_price) FROM order_items i JOIN products p USING (product_id) WHERE p.launched >= '2021-01-01' AND NOT p.discontinued GROUP BY p.brand ORDER BY p.brand;

-- Sales by how long the product has been on the market
SELECT extract(year FROM p.launched) AS launched, sum(i.quantity) AS units FROM order_items i JOIN products p USING (product_id) GROUP BY launched ORDER BY launched;

-- Which products are bought together?
SELECT a.product_id, b.product_id, count(*) AS together
FROM order_items a JOIN order_items b ON b.customer_id = a.customer_id AND b.order_id = a.order_id AND b.product_id > a.product_id
GROUP BY a.product_id, b.product_id ORDER BY together DESC, 1, 2 LIMIT 10;

-- Total sales and returns side by side
SELECT s.brand, s.units, r.units AS returned
FROM (SELECT p.brand, sum(quantity) AS units FROM order_items JOIN products p USING (product_id) GROUP BY p.brand) s
JOIN (SELECT p.brand, sum(quantity) AS units FROM order_items JOIN products p USING (product_id) WHERE returned GROUP BY p.brand) r ON r.brand = s.brand
ORDER BY s.brand;

-- Revenue in the price bands of products
SELECT CASE WHEN p.list_price < 50 THEN 'low' WHEN p.list_price < 150 THEN 'middle' ELSE 'high' END AS band, sum(i.quantity * i.unit_price) AS revenue
FROM order_items i JOIN products p USING (product_id) GROUP BY band ORDER BY band;

-- Average age of product in days when it is sold
SELECT avg(o.ordered_at::date - p.launched) FROM orders o JOIN order_items i USING (order_id, customer_id) JOIN products p USING (product_id);

-- Revenue by main category, with the categories below it
WITH RECURSIVE tree AS (
  SELECT category_id, name AS main FROM categories WHERE parent_id IS NULL
  UNION ALL
  SELECT c.category_id, t.main FROM categories c JOIN tree t ON c.parent_id = t.category_id)
SELECT t.main, sum(i.quantity * i.unit_price) AS revenue FROM order_items i JOIN products p USING (product_id) JOIN tree t USING (category_id) GROUP BY t.main ORDER BY t.main;

-- Returns by how a price compares with its category
SELECT x.dear, avg(i.returned::int) AS returned FROM order_items i
JOIN (SELECT product_id, list_price > avg(list_price) OVER (PARTITION BY category_id) AS dear FROM products) x ON x.product_id = i.product_id
GROUP BY x.dear ORDER BY x.dear;

-- Units by ABC class of the catalogue
WITH shares AS (SELECT product_id, sum(list_price) OVER (ORDER BY list_price DESC, product_id) / sum(list_price) OVER () AS share FROM products)
SELECT CASE WHEN s.share <= 0.5 THEN 'A' WHEN s.share <= 0.8 THEN 'B' ELSE 'C' END AS class, sum(i.quantity) FROM order_items i JOIN shares s USING (product_id) GROUP BY 1 ORDER BY 1;

# Text and search

-- Reviews that mention breaking
SELECT count(*), avg(rating) FROM reviews WHERE body ILIKE '%broken%';

-- Reviews by length of text
SELECT CASE WHEN body IS NULL THEN 'none' WHEN length(body) < 10 THEN 'short' ELSE 'long' END AS text, count(*) FROM reviews GROUP BY 1 ORDER BY 1;

-- Customers whose name begins with A
SELECT count(*) FROM customers WHERE full_name ~ '^A';

-- The most common first names
SELECT split_part(full_name, ' ', 1) AS first_name, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;

-- List of reviews
-- refused: texts that people wrote
SELECT body FROM reviews WHERE rating = 1;

-- All e-mail addresses for the newsletter
-- refused: it asks for people's addresses
SELECT string_agg(email, ',') FROM customers WHERE newsletter;

-- Which payment methods are there?
SELECT DISTINCT method FROM payments ORDER BY method;

-- Which coupons were used in 2024, as a list?
SELECT string_agg(coupon, ', ' ORDER BY coupon) FROM (SELECT coupon, count(*) FROM orders WHERE coupon IS NOT NULL AND ordered_at >= '2024-01-01' GROUP BY coupon) c;
