-- A lender of films, with the tables, columns, types and keys of Pagila. The rows are made by ../pagila.go.
CREATE TYPE mpaa_rating AS ENUM ('G', 'PG', 'PG-13', 'R', 'NC-17');
CREATE DOMAIN year AS integer CHECK (VALUE BETWEEN 1901 AND 2155);
CREATE TABLE country (country_id serial PRIMARY KEY, country text NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE city (city_id serial PRIMARY KEY, city text NOT NULL, country_id int NOT NULL REFERENCES country, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE address (address_id serial PRIMARY KEY, address text NOT NULL, address2 text, district text NOT NULL, city_id int NOT NULL REFERENCES city,
  postal_code text, phone text NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE language (language_id serial PRIMARY KEY, name character(20) NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE category (category_id serial PRIMARY KEY, name text NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE actor (actor_id serial PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE film (film_id serial PRIMARY KEY, title text NOT NULL, description text, release_year year, language_id int NOT NULL REFERENCES language,
  original_language_id int REFERENCES language, rental_duration smallint NOT NULL DEFAULT 3, rental_rate numeric(4,2) NOT NULL DEFAULT 4.99, length smallint,
  replacement_cost numeric(5,2) NOT NULL DEFAULT 19.99, rating mpaa_rating DEFAULT 'G', last_update timestamptz NOT NULL DEFAULT now(),
  special_features text[], fulltext tsvector NOT NULL DEFAULT '');
CREATE TABLE film_actor (actor_id int NOT NULL REFERENCES actor, film_id int NOT NULL REFERENCES film, last_update timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor_id, film_id));
CREATE TABLE film_category (film_id int NOT NULL REFERENCES film, category_id int NOT NULL REFERENCES category, last_update timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (film_id, category_id));
CREATE TABLE staff (staff_id serial PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, address_id int NOT NULL REFERENCES address, email text,
  store_id int NOT NULL, active boolean NOT NULL DEFAULT true, username text NOT NULL, password text, last_update timestamptz NOT NULL DEFAULT now(), picture bytea);
CREATE TABLE store (store_id serial PRIMARY KEY, manager_staff_id int NOT NULL, address_id int NOT NULL REFERENCES address,
  last_update timestamptz NOT NULL DEFAULT now());
ALTER TABLE staff ADD FOREIGN KEY (store_id) REFERENCES store DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE inventory (inventory_id serial PRIMARY KEY, film_id int NOT NULL REFERENCES film, store_id int NOT NULL REFERENCES store,
  last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE customer (customer_id serial PRIMARY KEY, store_id int NOT NULL REFERENCES store, first_name text NOT NULL, last_name text NOT NULL, email text,
  address_id int NOT NULL REFERENCES address, activebool boolean NOT NULL DEFAULT true, create_date date NOT NULL DEFAULT CURRENT_DATE,
  last_update timestamptz DEFAULT now(), active int);
CREATE TABLE rental (rental_id serial PRIMARY KEY, rental_date timestamptz NOT NULL, inventory_id int NOT NULL REFERENCES inventory,
  customer_id int NOT NULL REFERENCES customer, return_date timestamptz, staff_id int NOT NULL REFERENCES staff, last_update timestamptz NOT NULL DEFAULT now());
CREATE UNIQUE INDEX ON rental (rental_date, inventory_id, customer_id);
CREATE TABLE payment (payment_id serial NOT NULL, customer_id int NOT NULL, staff_id int NOT NULL, rental_id int NOT NULL, amount numeric(5,2) NOT NULL,
  payment_date timestamptz NOT NULL, PRIMARY KEY (payment_date, payment_id)) PARTITION BY RANGE (payment_date);
-- As published, keys are on the partitions.
DO $$
DECLARE m date;
BEGIN
  FOR m IN SELECT generate_series('2005-05-01'::date, '2006-02-01', '1 month') LOOP
    EXECUTE format('CREATE TABLE payment_p%s PARTITION OF payment FOR VALUES FROM (%L) TO (%L)', to_char(m, 'YYYY_MM'), m || ' 00:00+00', (m + interval '1 month')::date || ' 00:00+00');
    EXECUTE format('ALTER TABLE payment_p%s ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental', to_char(m, 'YYYY_MM'));
    EXECUTE format('CREATE INDEX ON payment_p%s (customer_id)', to_char(m, 'YYYY_MM'));
  END LOOP;
END $$;
CREATE INDEX ON customer (store_id);
CREATE INDEX ON customer (last_name);
CREATE INDEX ON rental (inventory_id);
CREATE INDEX ON inventory (store_id, film_id);
CREATE VIEW sales_by_film_category AS SELECT c.name AS category, sum(p.amount) AS total_sales
  FROM payment p JOIN rental USING (rental_id) JOIN inventory USING (inventory_id) JOIN film_category USING (film_id) JOIN category c USING (category_id) GROUP BY c.name;
