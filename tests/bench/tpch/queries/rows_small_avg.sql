SELECT c_mktsegment, avg(c_acctbal) FROM customer GROUP BY c_mktsegment ORDER BY c_mktsegment
