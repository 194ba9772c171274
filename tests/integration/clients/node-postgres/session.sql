-- node-postgres: session

-- $1 = 'low'
select $1::public.severity
;
