-- psqlodbc: startup

SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation
;

select oid, typbasetype from pg_type where typname = 'lo'
;
