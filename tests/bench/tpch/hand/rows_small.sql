SELECT array_position('{AUTOMOBILE,BUILDING,FURNITURE,HOUSEHOLD,MACHINERY}', c_mktsegment), count(*),
       2 * sum(LEAST(GREATEST(c_acctbal::float8 * 100, -100000), 1000000)::int) - 900000 * count(*)
FROM customer GROUP BY c_mktsegment
