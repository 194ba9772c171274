-- How many rentals are there?
-- columns: count
SELECT count(*) AS rentals FROM rental;

-- What has been paid, in all and on average?
-- columns: sum avg
SELECT sum(amount) AS paid, avg(amount) AS average FROM payment;

-- How many customers are active, and how many are not?
-- columns: key count
SELECT active, count(*) AS customers FROM customer GROUP BY active;

-- How many customers has each store?
-- columns: key count
SELECT store_id, count(*) AS customers FROM customer GROUP BY store_id ORDER BY store_id;

-- How many customers are there, and how many of them have ever rented?
-- columns: count count
SELECT count(*) AS customers, count(*) FILTER (WHERE EXISTS (SELECT 1 FROM rental r WHERE r.customer_id = c.customer_id)) AS renting FROM customer c;

-- How many rentals in each month?
-- columns: key count
SELECT date_trunc('month', rental_date) AS month, count(*) AS rentals FROM rental GROUP BY 1 ORDER BY 1;

-- What was paid in each month, and how many payments were there?
-- columns: key sum count
SELECT date_trunc('month', payment_date) AS month, sum(amount) AS paid, count(*) AS payments FROM payment GROUP BY 1 ORDER BY 1;

-- How many rentals on each day of July 2005?
-- columns: key count
SELECT date_trunc('day', rental_date) AS day, count(*) AS rentals FROM rental
WHERE rental_date >= '2005-07-01' AND rental_date < '2005-08-01' GROUP BY 1 ORDER BY 1;

-- At which hours of the day do people rent?
-- columns: key count
SELECT extract(hour FROM rental_date) AS hour, count(*) AS rentals FROM rental GROUP BY 1 ORDER BY 1;

-- On which days of the week?
-- columns: key count
SELECT extract(dow FROM rental_date) AS weekday, count(*) AS rentals FROM rental GROUP BY 1 ORDER BY 1;

-- How many rentals has each category?
-- columns: key count
SELECT c.name, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film_category fc USING (film_id) JOIN category c USING (category_id)
GROUP BY c.name ORDER BY c.name;

-- Which five categories have brought most?
-- columns: key sum
SELECT c.name, sum(p.amount) AS paid FROM payment p JOIN rental r USING (rental_id, customer_id) JOIN inventory i USING (inventory_id)
JOIN film_category fc USING (film_id) JOIN category c USING (category_id) GROUP BY c.name ORDER BY paid DESC LIMIT 5;

-- Which ten films are rented most?
-- columns: key count
SELECT f.title, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film f USING (film_id)
GROUP BY f.title ORDER BY rentals DESC LIMIT 10;

-- How many rentals has each film?
-- columns: key count
SELECT f.title, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) GROUP BY f.title;

-- How many rentals do films have, together and on average?
-- columns: count count avg
SELECT count(*) AS films, sum(n) AS rentals, avg(n) AS each
FROM (SELECT f.title, count(*) AS n FROM rental r JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) GROUP BY f.title) t;

-- How many rentals has each rating?
-- columns: key count
SELECT f.rating, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) GROUP BY f.rating;

-- What has each store taken, by the films' store?
-- columns: key sum
SELECT i.store_id, sum(p.amount) AS paid FROM payment p JOIN rental r USING (rental_id, customer_id) JOIN inventory i USING (inventory_id) GROUP BY i.store_id;

-- What has each member of staff taken, and how many payments?
-- columns: key sum count
SELECT staff_id, sum(amount) AS paid, count(*) AS payments FROM payment GROUP BY staff_id;

-- In which countries are most customers?
-- columns: key count
SELECT co.country, count(*) AS customers FROM customer c JOIN address a USING (address_id) JOIN city ci USING (city_id) JOIN country co USING (country_id)
GROUP BY co.country ORDER BY customers DESC LIMIT 10;

-- What is the median payment, and the 90th percentile?
-- columns: order order
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY amount) AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY amount) AS high FROM payment;

-- What is the average payment of each category?
-- columns: key avg
SELECT c.name, avg(p.amount) AS average FROM payment p JOIN rental r USING (rental_id, customer_id) JOIN inventory i USING (inventory_id)
JOIN film_category fc USING (film_id) JOIN category c USING (category_id) GROUP BY c.name ORDER BY c.name;

-- From when to when are the rentals?
-- columns: order order
SELECT min(rental_date) AS first, max(rental_date) AS last FROM rental;

-- How many rentals have not come back?
-- columns: count
SELECT count(*) AS outstanding FROM rental WHERE return_date IS NULL;

-- For how many days are films kept, on average?
-- columns: avg
SELECT avg(extract(epoch FROM return_date - rental_date) / 86400) AS days FROM rental WHERE return_date IS NOT NULL;

-- Which share of the rentals came back late, in each category?
-- columns: key share
SELECT c.name, avg(CASE WHEN r.return_date > r.rental_date + f.rental_duration * interval '1 day' THEN 1.0 ELSE 0 END) AS late
FROM rental r JOIN inventory i USING (inventory_id) JOIN film f USING (film_id) JOIN film_category fc USING (film_id) JOIN category c USING (category_id)
WHERE r.return_date IS NOT NULL GROUP BY c.name;

-- How many rentals has a customer, on average?
-- columns: avg
SELECT avg(n) AS each FROM (SELECT customer_id, count(*) AS n FROM rental GROUP BY customer_id) t;

-- How many customers have how many rentals, by tens?
-- columns: key count
SELECT n / 10 * 10 AS tens, count(*) AS customers FROM (SELECT customer_id, count(*) AS n FROM rental GROUP BY customer_id) t GROUP BY 1 ORDER BY 1;

-- How many customers have rented more than 30 times?
-- columns: count
SELECT count(*) AS heavy FROM (SELECT customer_id FROM rental GROUP BY customer_id HAVING count(*) > 30) t;

-- In which month did how many customers rent first, and when do they come again?
-- columns: key key count
SELECT f.cohort, date_trunc('month', r.rental_date) AS month, count(DISTINCT r.customer_id) AS customers
FROM rental r JOIN (SELECT customer_id, date_trunc('month', min(rental_date)) AS cohort FROM rental GROUP BY customer_id) f USING (customer_id)
GROUP BY 1, 2 ORDER BY 1, 2;

-- How many customers have rented in May and in August?
-- columns: count
SELECT count(*) AS loyal FROM customer c
WHERE EXISTS (SELECT 1 FROM rental r WHERE r.customer_id = c.customer_id AND r.rental_date < '2005-06-01')
AND c.customer_id IN (SELECT customer_id FROM rental WHERE rental_date >= '2005-08-01' AND rental_date < '2005-09-01');

-- Which categories have more than a thousand rentals?
-- columns: key count
-- among: SELECT c.name, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film_category fc USING (film_id) JOIN category c USING (category_id) GROUP BY c.name
SELECT c.name, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id) JOIN film_category fc USING (film_id) JOIN category c USING (category_id)
GROUP BY c.name HAVING count(*) > 1000;

-- What has been paid up to each month, and which share of the whole was it?
-- columns: key sum sum share
SELECT date_trunc('month', payment_date) AS month, sum(amount) AS paid, sum(sum(amount)) OVER (ORDER BY date_trunc('month', payment_date)) AS running,
  sum(amount) / sum(sum(amount)) OVER () AS share FROM payment GROUP BY 1 ORDER BY 1;

-- How many rentals has each store in each month, with totals?
-- columns: key key count
SELECT i.store_id, date_trunc('month', r.rental_date) AS month, count(*) AS rentals FROM rental r JOIN inventory i USING (inventory_id)
GROUP BY ROLLUP (1, 2) ORDER BY 1, 2;
