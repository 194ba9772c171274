SELECT 1, sum(LEAST(s, 49000000000))
FROM (SELECT o_custkey, sum(LEAST(GREATEST(l_extendedprice * l_discount * 10000, 0), 70000000)::int) AS s
      FROM lineitem JOIN orders ON l_orderkey = o_orderkey
      WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
      GROUP BY 1) AS u
