-- pgjdbc: startup

SET extra_float_digits = 3
;

SET application_name = 'pgjdbc'
;
