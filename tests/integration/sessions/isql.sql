SELECT ward, beds FROM wards ORDER BY ward
SELECT count(*) FROM patients WHERE age > 40
SELECT name FROM patients
SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 1
