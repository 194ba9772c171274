-- Tables, columns, types and keys of the Pagila database.
-- nobody: actor, category, city, country, film, film_actor, film_category, inventory, language, store
CREATE TYPE mpaa_rating AS ENUM ('G', 'PG', 'PG-13', 'R', 'NC-17');
CREATE DOMAIN year AS int CHECK (VALUE >= 1901 AND VALUE <= 2155);
CREATE TABLE actor (actor_id serial PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE category (category_id serial PRIMARY KEY, name text NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE country (country_id serial PRIMARY KEY, country text NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE city (city_id serial PRIMARY KEY, city text NOT NULL, country_id int NOT NULL REFERENCES country, last_update timestamptz NOT NULL);
CREATE TABLE address (address_id serial PRIMARY KEY, address text NOT NULL, address2 text, district text NOT NULL, city_id int NOT NULL REFERENCES city,
    postal_code text, phone text NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE language (language_id serial PRIMARY KEY, name char(20) NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE film (film_id serial PRIMARY KEY, title text NOT NULL, description text, release_year year, language_id int NOT NULL REFERENCES language,
    original_language_id int REFERENCES language, rental_duration smallint NOT NULL, rental_rate numeric(4,2) NOT NULL, length smallint,
    replacement_cost numeric(5,2) NOT NULL, rating mpaa_rating, last_update timestamptz NOT NULL, special_features text[], fulltext tsvector NOT NULL);
CREATE TABLE film_actor (actor_id int REFERENCES actor, film_id int REFERENCES film, last_update timestamptz NOT NULL, PRIMARY KEY (actor_id, film_id));
CREATE TABLE film_category (film_id int REFERENCES film, category_id int REFERENCES category, last_update timestamptz NOT NULL, PRIMARY KEY (film_id, category_id));
CREATE TABLE store (store_id serial PRIMARY KEY, manager_staff_id int NOT NULL, address_id int NOT NULL REFERENCES address, last_update timestamptz NOT NULL);
CREATE TABLE staff (staff_id serial PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, address_id int NOT NULL REFERENCES address, email text,
    store_id int NOT NULL REFERENCES store, active boolean NOT NULL, username text NOT NULL, password text, last_update timestamptz NOT NULL, picture bytea);
CREATE TABLE inventory (inventory_id serial PRIMARY KEY, film_id int NOT NULL REFERENCES film, store_id int NOT NULL REFERENCES store, last_update timestamptz NOT NULL);
CREATE TABLE customer (customer_id serial PRIMARY KEY, store_id int NOT NULL REFERENCES store, first_name text NOT NULL, last_name text NOT NULL, email text,
    address_id int NOT NULL REFERENCES address, activebool boolean NOT NULL, create_date date NOT NULL, last_update timestamptz, active int);
CREATE TABLE rental (rental_id serial PRIMARY KEY, rental_date timestamptz NOT NULL, inventory_id int NOT NULL REFERENCES inventory,
    customer_id int NOT NULL REFERENCES customer, return_date timestamptz, staff_id int NOT NULL REFERENCES staff, last_update timestamptz NOT NULL);
CREATE TABLE payment (payment_id serial, customer_id int NOT NULL REFERENCES customer, staff_id int NOT NULL REFERENCES staff,
    rental_id int NOT NULL REFERENCES rental, amount numeric(5,2) NOT NULL, payment_date timestamptz NOT NULL, PRIMARY KEY (payment_date, payment_id)
) PARTITION BY RANGE (payment_date);
