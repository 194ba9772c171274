SELECT city, count(*), avg(income), sum(age) FROM people GROUP BY city ORDER BY city
