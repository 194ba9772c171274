-- A shop in the shape of the sample databases that people learn on: orders and payments partitioned by month, their items,
-- reviews and the events of the web site; a public catalogue. Made by hashing, so that it is the same every time.
CREATE FUNCTION h(n bigint, seed bigint, modulus bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT ((hashint8extended(n, seed) & 9223372036854775807) % modulus) $$;

CREATE TABLE countries (code char(2) PRIMARY KEY, name text NOT NULL, region text NOT NULL, currency char(3) NOT NULL);
INSERT INTO countries VALUES ('DE', 'Germany', 'Europe', 'EUR'), ('FR', 'France', 'Europe', 'EUR'), ('GB', 'United Kingdom', 'Europe', 'GBP'),
  ('US', 'United States', 'Americas', 'USD'), ('BR', 'Brazil', 'Americas', 'BRL'), ('JP', 'Japan', 'Asia', 'JPY'), ('IN', 'India', 'Asia', 'INR'), ('IS', 'Iceland', 'Europe', 'ISK');

CREATE TABLE categories (category_id int PRIMARY KEY, name text NOT NULL UNIQUE, department text NOT NULL, parent_id int REFERENCES categories);
INSERT INTO categories VALUES (1, 'Electronics', 'Hard goods', NULL), (2, 'Phones', 'Hard goods', 1), (3, 'Laptops', 'Hard goods', 1), (4, 'Books', 'Media', NULL),
  (5, 'Toys', 'Hard goods', NULL), (6, 'Clothing', 'Soft goods', NULL), (7, 'Shoes', 'Soft goods', 6), (8, 'Garden', 'Hard goods', NULL), (9, 'Vinyl', 'Media', NULL);

CREATE TABLE products (
  product_id int PRIMARY KEY, category_id int NOT NULL REFERENCES categories, name text NOT NULL, brand text NOT NULL,
  list_price numeric(10,2) NOT NULL, unit_cost numeric(10,2) NOT NULL, launched date NOT NULL, discontinued boolean NOT NULL);
INSERT INTO products
SELECT i, 1 + h(i, 1, 8), 'Product ' || i, (ARRAY['Acme', 'Globex', 'Initech', 'Umbrella', 'Hooli'])[1 + h(i, 2, 5)],
       5 + h(i, 3, 29500) / 100.0, round((5 + h(i, 3, 29500) / 100.0) * (0.4 + h(i, 4, 40) / 100.0), 2), date '2019-01-01' + h(i, 5, 1500)::int, h(i, 6, 10) = 0
FROM generate_series(1, 120) i;

CREATE TABLE customers (
  customer_id bigint PRIMARY KEY, full_name text NOT NULL, email text NOT NULL, country char(2) NOT NULL REFERENCES countries, city text,
  gender text, birth_date date, segment text NOT NULL, signed_up timestamptz NOT NULL, newsletter boolean NOT NULL, referred_by bigint, credit_limit numeric(10,2));
INSERT INTO customers
SELECT i, (ARRAY['Ann', 'Bob', 'Carla', 'Dev', 'Emi', 'Fritz', 'Gal'])[1 + h(i, 10, 7)] || ' ' || (ARRAY['Silva', 'Meyer', 'Smith', 'Sato', 'Kumar', 'Dubois'])[1 + h(i, 11, 6)],
       'c' || i || '@' || (ARRAY['gmail.com', 'yahoo.com', 'example.org'])[1 + h(i, 12, 3)],
       (ARRAY['DE', 'FR', 'GB', 'US', 'US', 'BR', 'JP', 'IN'])[1 + h(i, 13, 8)], CASE WHEN h(i, 14, 9) > 0 THEN (ARRAY['Berlin', 'Paris', 'London', 'New York', 'Recife', 'Osaka', 'Pune'])[1 + h(i, 15, 7)] END,
       CASE WHEN h(i, 16, 10) > 0 THEN (ARRAY['f', 'm', 'x'])[1 + h(i, 17, 100) / 49] END,
       CASE WHEN h(i, 18, 12) > 0 THEN date '1940-01-01' + h(i, 19, 24000)::int END,
       (ARRAY['consumer', 'consumer', 'corporate', 'home office'])[1 + h(i, 20, 4)],
       timestamptz '2022-06-01 00:00+00' + h(i, 21, 900 * 86400) * interval '1 second', h(i, 22, 3) = 0,
       CASE WHEN i > 50 AND h(i, 23, 4) = 0 THEN 1 + h(i, 24, 50) END, CASE WHEN h(i, 25, 5) > 0 THEN h(i, 26, 500000) / 100.0 END
FROM generate_series(1, 1500) i;

CREATE TABLE orders (
  order_id bigint NOT NULL, customer_id bigint NOT NULL REFERENCES customers, ordered_at timestamp NOT NULL, status text NOT NULL, channel text NOT NULL,
  ship_country char(2) NOT NULL REFERENCES countries, shipping_fee numeric(8,2) NOT NULL, total numeric(10,2) NOT NULL, coupon text,
  shipped_at timestamp, delivered_at timestamp, PRIMARY KEY (order_id, ordered_at)) PARTITION BY RANGE (ordered_at);
CREATE TABLE payments (
  payment_id bigint NOT NULL, customer_id bigint NOT NULL REFERENCES customers, order_id bigint NOT NULL, method text NOT NULL, amount numeric(10,2) NOT NULL,
  installments int NOT NULL, paid_at timestamp NOT NULL, PRIMARY KEY (payment_id, paid_at)) PARTITION BY RANGE (paid_at);
DO $$ BEGIN
  FOR m IN 0..25 LOOP
    EXECUTE format('CREATE TABLE orders_%s PARTITION OF orders FOR VALUES FROM (%L) TO (%L)', m, date '2023-01-01' + m * interval '1 month', date '2023-01-01' + (m + 1) * interval '1 month');
    EXECUTE format('CREATE TABLE payments_%s PARTITION OF payments FOR VALUES FROM (%L) TO (%L)', m, date '2023-01-01' + m * interval '1 month', date '2023-01-01' + (m + 1) * interval '1 month');
  END LOOP;
END $$;

-- A third of the customers never order; orders grow over time, and more are placed before Christmas.
CREATE TABLE order_items (
  order_id bigint NOT NULL, line int NOT NULL, customer_id bigint NOT NULL REFERENCES customers, product_id int NOT NULL REFERENCES products,
  quantity int NOT NULL, unit_price numeric(10,2) NOT NULL, discount numeric(4,2) NOT NULL, returned boolean NOT NULL, PRIMARY KEY (order_id, line));
CREATE TEMP TABLE o AS
SELECT i AS order_id, 1 + h(i, 30, 1000) AS customer_id,
       timestamp '2023-01-01' + (CASE WHEN h(i, 31, 4) = 0 THEN 300 + h(i, 32, 65) ELSE h(i, 32, 365) END + CASE WHEN h(i, 33, 5) < 2 THEN 0 ELSE 366 END) * interval '1 day' + h(i, 34, 86400) * interval '1 second' AS ordered_at,
       (ARRAY['delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'shipped', 'pending', 'cancelled', 'returned'])[1 + h(i, 35, 9)] AS status
FROM generate_series(1, 6000) i;
DELETE FROM o WHERE ordered_at >= '2025-01-01';
INSERT INTO order_items
SELECT o.order_id, n, o.customer_id, p.product_id, 1 + h(k, 41, 5), p.list_price, h(k, 42, 7) * 0.05, h(k, 43, 20) = 0
FROM o CROSS JOIN LATERAL generate_series(1, 1 + h(o.order_id, 40, 4)::int) n CROSS JOIN LATERAL (SELECT o.order_id * 8 + n AS k) x
JOIN products p ON p.product_id = 1 + h(x.k, 44, 115);
INSERT INTO orders
SELECT o.order_id, o.customer_id, ordered_at, status, (ARRAY['web', 'web', 'app', 'store', 'phone'])[1 + h(o.order_id, 36, 5)],
       CASE WHEN h(o.order_id, 37, 10) = 0 THEN 'GB' ELSE c.country END, h(o.order_id, 38, 2500) / 100.0, t.total,
       CASE WHEN h(o.order_id, 39, 5) = 0 THEN (ARRAY['WELCOME10', 'SPRING', 'FREESHIP'])[1 + h(o.order_id, 45, 3)] END,
       CASE WHEN status IN ('shipped', 'delivered', 'returned') THEN ordered_at + (6 + h(o.order_id, 46, 120)) * interval '1 hour' END,
       CASE WHEN status IN ('delivered', 'returned') THEN ordered_at + (30 + h(o.order_id, 46, 120) + h(o.order_id, 47, 200)) * interval '1 hour' END
FROM o JOIN customers c USING (customer_id)
JOIN (SELECT order_id, round(sum(quantity * unit_price * (1 - discount)), 2) AS total FROM order_items GROUP BY 1) t USING (order_id);
INSERT INTO payments
SELECT order_id, customer_id, order_id, (ARRAY['card', 'card', 'paypal', 'invoice', 'gift card'])[1 + h(order_id, 50, 5)], total + shipping_fee,
       1 + (h(order_id, 51, 12) * h(order_id, 52, 2))::int, ordered_at + h(order_id, 53, 7200) * interval '1 second'
FROM orders WHERE status <> 'cancelled';
CREATE INDEX ON order_items (customer_id);
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON payments (customer_id);

CREATE TABLE reviews (
  review_id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, product_id int NOT NULL REFERENCES products, rating int NOT NULL, body text, reviewed_on date NOT NULL);
INSERT INTO reviews
SELECT row_number() OVER (ORDER BY order_id, line), i.customer_id, i.product_id, 1 + (h(k, 60, 5) + h(k, 61, 5) + 1)::int / 2,
       CASE WHEN h(k, 62, 2) = 0 THEN (ARRAY['Great product', 'Arrived late', 'Broken after a week', 'ok', 'would buy again'])[1 + h(k, 63, 5)] END, LEAST(o.ordered_at::date + 5 + h(k, 64, 20)::int, date '2024-12-31')
FROM order_items i JOIN orders o USING (order_id) CROSS JOIN LATERAL (SELECT i.order_id * 8 + i.line AS k) x WHERE h(k, 65, 5) = 0;
CREATE INDEX ON reviews (customer_id);

CREATE TABLE events (
  event_id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, session_id bigint NOT NULL, at timestamptz NOT NULL, kind text NOT NULL, page text NOT NULL, device text NOT NULL, seconds int NOT NULL);
INSERT INTO events
SELECT s * 8 + n, 1 + h(s, 70, 1300), s, timestamptz '2024-07-01 00:00+00' + h(s, 71, 183 * 86400) * interval '1 second' + n * interval '2 minutes',
       (ARRAY['visit', 'view', 'cart', 'checkout', 'purchase'])[n], (ARRAY['/', '/search', '/product', '/cart', '/help'])[1 + h(s * 8 + n, 72, 5)],
       (ARRAY['mobile', 'mobile', 'desktop', 'tablet'])[1 + h(s, 73, 4)], 1 + h(s * 8 + n, 74, 300)
FROM generate_series(1, 4000) s CROSS JOIN LATERAL generate_series(1, LEAST(5, 1 + h(s, 75, 7))::int) n;
CREATE INDEX ON events (customer_id);

CREATE VIEW order_lines AS
SELECT i.order_id, i.line, i.customer_id, i.product_id, p.category_id, i.quantity, i.unit_price, i.discount, round(i.quantity * i.unit_price * (1 - i.discount), 2) AS amount
FROM order_items i JOIN products p ON p.product_id = i.product_id;
