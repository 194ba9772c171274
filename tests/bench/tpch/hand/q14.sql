SELECT 1, sum(LEAST(COALESCE(promo, 0), 700000000000)), sum(LEAST(s, 700000000000))
FROM (SELECT o_custkey, sum(e * (100 - d)) FILTER (WHERE p_type LIKE 'PROMO%') AS promo, sum(e * (100 - d)) AS s
      FROM (SELECT o_custkey, p_type, LEAST(GREATEST(l_extendedprice::float8 * 100, 0), 10000000)::int AS e, LEAST(GREATEST(l_discount::float8 * 100, 0), 10)::int AS d
            FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN part ON l_partkey = p_partkey
            WHERE l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01' OFFSET '0') AS r
      GROUP BY 1) AS u
