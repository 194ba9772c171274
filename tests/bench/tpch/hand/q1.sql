-- The counts, then Σ(2x − 2c) of quantity, price, discount, discounted price and charge, this in steps of 0.001.
SELECT 2 * array_position('{A,N,R}', l_returnflag) + array_position('{F,O}', l_linestatus) - 2,
       sum(CASE WHEN n_all <= 700 THEN n ELSE trunc((n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s1 - 5000 * n ELSE trunc((2 * s1 - 5000 * n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s2 - 10000000 * n::bigint ELSE trunc((2 * s2 - 10000000 * n::bigint)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s3 - 10 * n ELSE trunc((2 * s3 - 10 * n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s4 - 1000000000 * n::bigint ELSE trunc((2 * s4 - 1000000000 * n::bigint)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s5 - 108000000 * n::bigint ELSE trunc((2 * s5 - 108000000 * n::bigint)::numeric * 700 / n_all)::bigint END)
FROM (SELECT *, sum(n) OVER (PARTITION BY o_custkey) AS n_all
      FROM (SELECT o_custkey, l_returnflag, l_linestatus, sum(q) AS s1, sum(e) AS s2, sum(d) AS s3, sum(e * (100 - d)) AS s4,
               sum(c) AS s5, count(*)::int AS n
            FROM (SELECT o_custkey, l_returnflag, l_linestatus,
                    LEAST(GREATEST(l_quantity::float8 * 100, 0), 5000)::int AS q, LEAST(GREATEST(l_extendedprice::float8 * 100, 0), 10000000)::int AS e,
                    LEAST(GREATEST(l_discount::float8 * 100, 0), 10)::int AS d,
                    LEAST(GREATEST(l_extendedprice * (1 - l_discount) * (1 + l_tax) * 1000, 0), 108000000)::int AS c
                  FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE l_shipdate <= date '1998-09-02' OFFSET '0') AS r
            GROUP BY 1, 2, 3) AS u) AS w
GROUP BY 1
