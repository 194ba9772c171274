SELECT city, count(*) FROM people GROUP BY city ORDER BY city
