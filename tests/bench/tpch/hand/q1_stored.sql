-- The counts, then Σ(2x − 2c) of quantity, price, discount, discounted price and charge, this in steps of 0.001.
SELECT 2 * array_position('{A,N,R}', returnflag) + array_position('{F,O}', linestatus) - 2,
       sum(CASE WHEN n_all <= 700 THEN n ELSE trunc((n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s1 - 5000 * n ELSE trunc((2 * s1 - 5000 * n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s2 - 10000000 * n::bigint ELSE trunc((2 * s2 - 10000000 * n::bigint)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s3 - 10 * n ELSE trunc((2 * s3 - 10 * n)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s4 - 1000000000 * n::bigint ELSE trunc((2 * s4 - 1000000000 * n::bigint)::numeric * 700 / n_all)::bigint END),
       sum(CASE WHEN n_all <= 700 THEN 2 * s5 - 108000000 * n::bigint ELSE trunc((2 * s5 - 108000000 * n::bigint)::numeric * 700 / n_all)::bigint END)
FROM (SELECT *, sum(n) OVER (PARTITION BY custkey) AS n_all
      FROM (SELECT custkey, returnflag, linestatus, sum(LEAST(GREATEST(quantity, 0), 5000)) AS s1, sum(LEAST(GREATEST(extendedprice, 0), 10000000)) AS s2,
               sum(LEAST(GREATEST(discount, 0), 10)) AS s3, sum(LEAST(GREATEST(extendedprice, 0), 10000000) * (100 - LEAST(GREATEST(discount, 0), 10))) AS s4,
               sum((LEAST(GREATEST(extendedprice, 0), 10000000)::bigint * (100 - LEAST(GREATEST(discount, 0), 10)) * (100 + LEAST(GREATEST(tax, 0), 8)) + 500) / 1000) AS s5,
               count(*)::int AS n
            FROM lineitem_stored WHERE shipdate <= date '1998-09-02' GROUP BY 1, 2, 3) AS u) AS w
GROUP BY 1
