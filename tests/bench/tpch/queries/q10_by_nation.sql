SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN nation ON c_nationkey = n_nationkey
WHERE o_orderdate >= date '1993-10-01' AND o_orderdate < date '1993-10-01' + interval '3 month' AND l_returnflag = 'R'
GROUP BY n_name ORDER BY revenue DESC
