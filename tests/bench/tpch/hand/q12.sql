SELECT array_position('{MAIL,SHIP}', l_shipmode), sum(CASE WHEN n_all <= 700 THEN n ELSE trunc((n)::numeric * 700 / n_all)::bigint END), sum(CASE WHEN n_all <= 700 THEN high ELSE trunc((high)::numeric * 700 / n_all)::bigint END), sum(CASE WHEN n_all <= 700 THEN low ELSE trunc((low)::numeric * 700 / n_all)::bigint END)
FROM (SELECT *, sum(n) OVER (PARTITION BY o_custkey) AS n_all
      FROM (SELECT o_custkey, l_shipmode, count(*)::int AS n, count(*) FILTER (WHERE o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH') AS high,
              count(*) FILTER (WHERE o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH') AS low
            FROM orders JOIN lineitem ON o_orderkey = l_orderkey
            WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
              AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'
            GROUP BY 1, 2) AS u) AS w
GROUP BY 1
