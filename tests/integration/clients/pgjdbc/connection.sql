-- pgjdbc: connection

select current_schema()
;

SHOW TRANSACTION ISOLATION LEVEL
;
