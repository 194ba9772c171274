-- How many customers are there?
-- columns: count
SELECT count(*) AS customers FROM customer;

-- In which countries are they?
-- columns: key count
SELECT country, count(*) AS customers FROM customer GROUP BY country ORDER BY customers DESC;

-- How many customers has each agent?
-- columns: key count
SELECT support_rep_id, count(*) AS customers FROM customer GROUP BY support_rep_id;

-- What has been sold, in how many invoices?
-- columns: sum count
SELECT sum(total) AS sales, count(*) AS invoices FROM invoice;

-- What is an invoice worth, on average?
-- columns: avg
SELECT avg(total) AS average FROM invoice;

-- What is the median invoice?
-- columns: order
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY total) AS median FROM invoice;

-- How much were the least and the greatest invoice?
-- columns: order order
SELECT min(total) AS least, max(total) AS greatest FROM invoice;

-- What was sold in each year?
-- columns: key sum count
SELECT extract(year FROM invoice_date) AS year, sum(total) AS sales, count(*) AS invoices FROM invoice GROUP BY 1 ORDER BY 1;

-- What was sold in each month of 2010?
-- columns: key sum
SELECT date_trunc('month', invoice_date) AS month, sum(total) AS sales FROM invoice WHERE invoice_date >= '2010-01-01' AND invoice_date < '2011-01-01'
GROUP BY 1 ORDER BY 1;

-- Which five countries buy most?
-- columns: key sum
SELECT billing_country, sum(total) AS sales FROM invoice GROUP BY billing_country ORDER BY sales DESC LIMIT 5;

-- How many tracks of each genre were sold?
-- columns: key count
SELECT g.name, count(*) AS sold FROM invoice_line l JOIN track t USING (track_id) JOIN genre g USING (genre_id) GROUP BY g.name;

-- Which five genres sell best?
-- columns: key count
SELECT g.name, count(*) AS sold FROM invoice_line l JOIN track t USING (track_id) JOIN genre g USING (genre_id) GROUP BY g.name ORDER BY sold DESC LIMIT 5;

-- Which ten artists bring most?
-- columns: key sum
SELECT a.name, sum(l.unit_price * l.quantity) AS sales FROM invoice_line l JOIN track t USING (track_id) JOIN album USING (album_id) JOIN artist a USING (artist_id)
GROUP BY a.name ORDER BY sales DESC LIMIT 10;

-- Which share of what is sold is of each medium?
-- columns: key share
SELECT m.name, count(*) / sum(count(*)) OVER () AS share FROM invoice_line l JOIN track t USING (track_id) JOIN media_type m USING (media_type_id) GROUP BY m.name;

-- How many invoices has a customer, on average?
-- columns: avg
SELECT avg(n) AS each FROM (SELECT customer_id, count(*) AS n FROM invoice GROUP BY customer_id) t;

-- How many customers have spent more than 40?
-- columns: count
SELECT count(*) AS good FROM (SELECT customer_id FROM invoice GROUP BY customer_id HAVING sum(total) > 40) t;

-- How many lines has an invoice, on average?
-- columns: avg
SELECT avg(n) AS lines FROM (SELECT i.customer_id, i.invoice_id, count(*) AS n FROM invoice i JOIN invoice_line l USING (invoice_id) GROUP BY 1, 2) t;

-- What was sold up to each year?
-- columns: key sum
SELECT extract(year FROM invoice_date) AS year, sum(sum(total)) OVER (ORDER BY extract(year FROM invoice_date)) AS running FROM invoice GROUP BY 1 ORDER BY 1;

-- Which share of the customers has bought anything of the first genre?
-- columns: share
SELECT avg(CASE WHEN EXISTS (SELECT 1 FROM invoice i JOIN invoice_line l USING (invoice_id) JOIN track t USING (track_id)
  WHERE i.customer_id = c.customer_id AND t.genre_id = 1) THEN 1.0 ELSE 0 END) AS share FROM customer c;

-- How many invoices of each agent's customers in each year, with totals?
-- columns: key key count
SELECT c.support_rep_id, extract(year FROM i.invoice_date) AS year, count(*) AS invoices FROM invoice i JOIN customer c USING (customer_id)
GROUP BY ROLLUP (1, 2) ORDER BY 1, 2;

-- From when to when are the invoices?
-- columns: order order
SELECT min(invoice_date) AS first, max(invoice_date) AS last FROM invoice;
