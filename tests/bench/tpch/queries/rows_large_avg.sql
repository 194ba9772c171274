SELECT city, avg(income) FROM people GROUP BY city ORDER BY city
