SELECT n_name, sum(LEAST(n, 700)), sum(LEAST(s, 700000000000))
FROM (SELECT o_custkey, n_name, count(*) AS n, sum(LEAST(GREATEST(l_extendedprice * (1 - l_discount) * 10000, 0), 1000000000)::int) AS s
      FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
      JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
      WHERE r_name = 'ASIA' AND o_orderdate >= date '1994-01-01' AND o_orderdate < date '1995-01-01'
      GROUP BY 1, 2) AS u
GROUP BY 1
