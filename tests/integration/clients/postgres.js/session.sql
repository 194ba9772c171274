-- postgres.js: session

select b.oid, b.typarray
      from pg_catalog.pg_type a
      left join pg_catalog.pg_type b on b.oid = a.typelem
      where a.typcategory = 'A'
      group by b.oid, b.typarray
      order by b.oid
;

-- $1 = '1'
select ward from wards where floor = $1
;

-- $1 = '{a}'
select $1::text[]
;
