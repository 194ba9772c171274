-- A shop that lends films: payments are partitioned and their foreign keys are on the partitions alone.
CREATE TYPE rating AS ENUM ('G', 'PG', 'R');
CREATE DOMAIN year AS int CHECK (VALUE >= 1901 AND VALUE <= 2155);
CREATE TABLE country (country_id serial PRIMARY KEY, country text NOT NULL);
CREATE TABLE city (city_id serial PRIMARY KEY, city text NOT NULL, country_id int NOT NULL REFERENCES country);
CREATE TABLE address (address_id serial PRIMARY KEY, address text NOT NULL, city_id int NOT NULL REFERENCES city, phone text);
CREATE TABLE store (store_id serial PRIMARY KEY, manager_staff_id int NOT NULL, address_id int NOT NULL REFERENCES address);
CREATE TABLE staff (staff_id serial PRIMARY KEY, last_name text, address_id int REFERENCES address, store_id int REFERENCES store, password text);
ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff;
CREATE TABLE customer (customer_id serial PRIMARY KEY, store_id int REFERENCES store, last_name text NOT NULL, email text, address_id int REFERENCES address,
  active bool NOT NULL, create_date date NOT NULL);
CREATE TABLE language (language_id serial PRIMARY KEY, name char(20) NOT NULL);
CREATE TABLE category (category_id serial PRIMARY KEY, name text NOT NULL);
CREATE TABLE actor (actor_id serial PRIMARY KEY, last_name text NOT NULL);
CREATE TABLE film (film_id serial PRIMARY KEY, title text NOT NULL, language_id int REFERENCES language, release_year year, length smallint, rating rating DEFAULT 'G');
CREATE TABLE film_actor (actor_id int REFERENCES actor, film_id int REFERENCES film, PRIMARY KEY (actor_id, film_id));
CREATE TABLE film_category (film_id int REFERENCES film, category_id int REFERENCES category, PRIMARY KEY (film_id, category_id));
CREATE TABLE inventory (inventory_id serial PRIMARY KEY, film_id int REFERENCES film, store_id int REFERENCES store);
CREATE TABLE rental (rental_id serial PRIMARY KEY, rental_date timestamptz NOT NULL, inventory_id int REFERENCES inventory, customer_id int REFERENCES customer,
  return_date timestamptz, staff_id int REFERENCES staff);
CREATE TABLE payment (payment_id serial, customer_id int NOT NULL, staff_id int NOT NULL, rental_id int NOT NULL, amount numeric(5,2) NOT NULL,
  payment_date timestamptz NOT NULL, PRIMARY KEY (payment_date, payment_id)) PARTITION BY RANGE (payment_date);
CREATE TABLE payment_01 PARTITION OF payment FOR VALUES FROM ('2022-01-01') TO ('2022-02-01');
CREATE TABLE payment_02 PARTITION OF payment FOR VALUES FROM ('2022-02-01') TO ('2022-03-01');
ALTER TABLE payment_02 ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (rental_id) REFERENCES rental, ADD FOREIGN KEY (staff_id) REFERENCES staff;
-- A copy without a key, what refers to it, a table of unlogged thoughts by inheritance, and two foreign tables.
CREATE TABLE payment_backup (id int PRIMARY KEY, customer_id bigint, amount numeric(5,2));
CREATE TABLE payment_note (id int PRIMARY KEY, payment int REFERENCES payment_backup, note text);
CREATE TABLE message (id int PRIMARY KEY, body text);
CREATE TABLE complaint (by_customer int REFERENCES customer) INHERITS (message);
CREATE VIEW customer_list AS SELECT c.customer_id, c.last_name, a.phone FROM customer c JOIN address a USING (address_id);
CREATE VIEW film_list AS SELECT f.film_id, f.title, c.name AS category FROM film f JOIN film_category USING (film_id) JOIN category c USING (category_id);
CREATE MATERIALIZED VIEW rental_by_category AS SELECT c.name, sum(p.amount) FROM payment p JOIN rental USING (rental_id) JOIN inventory USING (inventory_id) JOIN film_category USING (film_id) JOIN category c USING (category_id) GROUP BY 1;
CREATE EXTENSION postgres_fdw;
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'elsewhere.example');
CREATE SERVER weather FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'weather');
CREATE FOREIGN TABLE best_customers (last_name text) SERVER loop OPTIONS (table_name 'customer_list');
CREATE FOREIGN TABLE temperatures (day date, degrees int) SERVER weather;
