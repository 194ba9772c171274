-- A shop that lends films, for docs/tutorial.md: the tables of the well-known Pagila in short, with rows that are made, not real.
-- psql -d rental -f docs/tutorial/rental.sql
BEGIN;
SET LOCAL TimeZone = 'UTC';
DO $$ BEGIN PERFORM setseed(0.4); END $$;

CREATE TYPE rating AS ENUM ('G', 'PG', 'PG-13', 'R');
CREATE TABLE country (country_id int PRIMARY KEY, country text NOT NULL);
CREATE TABLE city (city_id int PRIMARY KEY, city text NOT NULL, country_id int NOT NULL REFERENCES country);
CREATE TABLE address (address_id int PRIMARY KEY, address text NOT NULL, city_id int NOT NULL REFERENCES city, phone text);
CREATE TABLE category (category_id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE film (film_id int PRIMARY KEY, title text NOT NULL, length smallint NOT NULL, rating rating NOT NULL, rental_rate numeric(4,2) NOT NULL);
CREATE TABLE film_category (film_id int PRIMARY KEY REFERENCES film, category_id int NOT NULL REFERENCES category);
CREATE TABLE store (store_id int PRIMARY KEY, name text NOT NULL, city_id int NOT NULL REFERENCES city);
CREATE TABLE staff (staff_id int PRIMARY KEY, last_name text NOT NULL, email text, store_id int NOT NULL REFERENCES store);
CREATE TABLE inventory (inventory_id int PRIMARY KEY, film_id int NOT NULL REFERENCES film, store_id int NOT NULL REFERENCES store);
CREATE TABLE customer (customer_id int PRIMARY KEY, store_id int NOT NULL REFERENCES store, last_name text NOT NULL, email text,
  address_id int NOT NULL REFERENCES address, birth_year smallint NOT NULL, create_date date NOT NULL);
CREATE TABLE rental (rental_id int PRIMARY KEY, rental_date timestamptz NOT NULL, inventory_id int NOT NULL REFERENCES inventory,
  customer_id int NOT NULL REFERENCES customer, days smallint NOT NULL, staff_id int NOT NULL REFERENCES staff);
CREATE TABLE payment (payment_id int NOT NULL, customer_id int NOT NULL, staff_id int NOT NULL, rental_id int NOT NULL, amount numeric(5,2) NOT NULL,
  method text NOT NULL, payment_date timestamptz NOT NULL, PRIMARY KEY (payment_date, payment_id)) PARTITION BY RANGE (payment_date);
-- As in Pagila, the keys are on the partitions.
CREATE TABLE payment_2024 PARTITION OF payment FOR VALUES FROM ('2024-01-01 00:00+00') TO ('2025-01-01 00:00+00');
CREATE TABLE payment_2025 PARTITION OF payment FOR VALUES FROM ('2025-01-01 00:00+00') TO ('2026-01-01 00:00+00');
ALTER TABLE payment_2024 ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental;
ALTER TABLE payment_2025 ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental;

INSERT INTO country SELECT i, (ARRAY['Ghana', 'Kenya', 'Nigeria', 'Senegal'])[i] FROM generate_series(1, 4) i;
INSERT INTO city SELECT i, 'City ' || i, 1 + i % 4 FROM generate_series(1, 40) i;
INSERT INTO address SELECT i, i || ' High Street', 1 + (random() * 39)::int, '0' || (100000000 + i) FROM generate_series(1, 9000) i;
INSERT INTO category SELECT i, (ARRAY['Action', 'Animation', 'Comedy', 'Crime', 'Documentary', 'Drama', 'Family', 'Music'])[i] FROM generate_series(1, 8) i;
INSERT INTO film SELECT i, 'Film ' || i, 45 + (random() * 140)::int, (ARRAY['G', 'PG', 'PG-13', 'R'])[1 + (random() * 3)::int]::rating, 0.99 + i % 3 FROM generate_series(1, 800) i;
INSERT INTO film_category SELECT i, 1 + floor(8 * random() * random())::int FROM generate_series(1, 800) i;
INSERT INTO store VALUES (1, 'North', 1), (2, 'South', 7), (3, 'Harbour', 20);
INSERT INTO staff SELECT i, 'Worker ' || i, 'worker' || i || '@example.org', 1 + i % 3 FROM generate_series(1, 12) i;
INSERT INTO inventory SELECT i, 1 + i % 800, 1 + (i / 800) % 3 FROM generate_series(1, 4000) i;
INSERT INTO customer SELECT i, 1 + floor(3 * random() ^ 1.3)::int, 'Customer ' || i, 'c' || i || '@example.org', i,
  1940 + floor(68 * sqrt(random()))::int, '2024-01-01'::date + (365 * random())::int FROM generate_series(1, 8000) i;
-- Most customers lend a few films, some very many.
INSERT INTO rental SELECT row_number() OVER (ORDER BY customer_id, n), create_date + (day || ' days')::interval + '10:00'::interval + (hour || ' hours')::interval,
    1 + floor(4000 * random())::int, customer_id, 1 + floor(9 * random() * random())::int, 1 + floor(12 * random())::int
  FROM (SELECT customer_id, create_date, n, floor(('2025-12-30'::date - create_date) * sqrt(random()))::int AS day, floor(12 * random())::int AS hour
    FROM (SELECT c.*, floor(-9 * ln(1 - random()))::int AS films FROM customer c) c, generate_series(1, c.films) n) r;
INSERT INTO payment SELECT r.rental_id, r.customer_id, r.staff_id, r.rental_id, f.rental_rate + greatest(0, r.days - 3),
    (ARRAY['cash', 'card', 'mobile'])[1 + floor(3 * random() * random())::int], r.rental_date
  FROM rental r JOIN inventory USING (inventory_id) JOIN film f USING (film_id);

CREATE INDEX ON rental (customer_id);
CREATE INDEX ON payment (customer_id);
CREATE VIEW film_list AS SELECT f.film_id, f.title, f.length, c.name AS category FROM film f JOIN film_category USING (film_id) JOIN category c USING (category_id);
CREATE VIEW rental_list AS SELECT r.rental_id, r.customer_id, r.rental_date, f.title, f.length, f.category FROM rental r JOIN inventory USING (inventory_id) JOIN film_list f USING (film_id);
COMMIT;
ANALYZE;
