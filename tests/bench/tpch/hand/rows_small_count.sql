SELECT array_position('{AUTOMOBILE,BUILDING,FURNITURE,HOUSEHOLD,MACHINERY}', c_mktsegment), count(*)
FROM customer GROUP BY c_mktsegment
