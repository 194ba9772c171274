SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment ORDER BY c_mktsegment
