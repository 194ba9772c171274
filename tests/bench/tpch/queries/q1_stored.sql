SELECT returnflag, linestatus, sum(quantity) AS sum_qty, sum(extendedprice) AS sum_base_price,
       sum(extendedprice * (100 - discount)) AS sum_disc_price, sum(extendedprice::bigint * (100 - discount) * (100 + tax)) AS sum_charge,
       avg(quantity) AS avg_qty, avg(extendedprice) AS avg_price, avg(discount) AS avg_disc, count(*) AS count_order
FROM lineitem_stored WHERE shipdate <= date '1998-12-01' - interval '90 day'
GROUP BY returnflag, linestatus ORDER BY returnflag, linestatus
