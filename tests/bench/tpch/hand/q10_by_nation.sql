-- A customer has one nation: nothing has to be added up over groups.
SELECT n_name, sum(LEAST(n, 700)), sum(LEAST(s, 700000000000))
FROM (SELECT o_custkey, n_name, count(*) AS n, sum(LEAST(GREATEST(l_extendedprice * (1 - l_discount) * 10000, 0), 1000000000)::int) AS s
      FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN nation ON c_nationkey = n_nationkey
      WHERE o_orderdate >= date '1993-10-01' AND o_orderdate < date '1994-01-01' AND l_returnflag = 'R'
      GROUP BY 1, 2) AS u
GROUP BY 1
