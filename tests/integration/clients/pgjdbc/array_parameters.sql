-- pgjdbc: array parameters

-- $1 = 'a'
-- $2 = '{a}'
select 1 where $1 = any($2)
;
