SELECT city, sum(income) FROM people GROUP BY city ORDER BY city
