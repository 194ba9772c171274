SELECT c_mktsegment, count(*), avg(c_acctbal), sum(c_acctbal) FROM customer GROUP BY c_mktsegment ORDER BY c_mktsegment
