-- A customer's orders have many dates: rows and magnitudes are added up over them.
SELECT o_orderdate - date '1991-12-31', sum(CASE WHEN n_all <= 700 THEN n ELSE trunc((n)::numeric * 700 / n_all)::bigint END), sum(CASE WHEN s_all <= 700000000000 THEN s ELSE trunc(s::numeric * 700000000000 / s_all)::bigint END)
FROM (SELECT *, sum(n) OVER unit AS n_all, sum(s) OVER unit AS s_all
      FROM (SELECT o_custkey, o_orderdate, o_shippriority, count(*)::int AS n, sum(LEAST(GREATEST(l_extendedprice * (1 - l_discount) * 10000, 0), 1000000000)::int) AS s
            FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
            WHERE c_mktsegment = 'BUILDING' AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15'
            GROUP BY 1, 2, 3) AS u
      WINDOW unit AS (PARTITION BY o_custkey)) AS w
WHERE o_orderdate >= date '1992-01-01' AND o_shippriority = 0
GROUP BY 1
