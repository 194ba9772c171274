-- psqlodbc: catalogs

select NULL, NULL, NULL
;
