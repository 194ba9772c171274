#!/bin/sh
# GDAL: the layers and fields that its PostgreSQL driver finds, a layer of an aggregate, and a table's rows.
to="PG:host=$PGHOST port=$PGPORT user=$PGUSER password=$PGPASSWORD dbname=$PGDATABASE"
echo "catalog layers $(ogrinfo -ro -q --config PG_LIST_ALL_TABLES YES "$to" 2>&1 | sed 's/^[0-9]*: //' | grep -v '^dpproxy\.' | sort | tr '\n' ' ')"
echo "catalog wards $(ogrinfo -ro -q "$to" wards 2>&1 | tr -s '\n ' ' ')"
ogrinfo -ro -q "$to" -sql "SELECT count(*)::int AS n FROM patients WHERE age > 40" 2>&1 | sed -n 's/^  n (Integer) = /answer count /p'
said=$(ogrinfo -ro -q "$to" -sql "SELECT * FROM patients LIMIT 5" 2>&1)
case $said in
*ERROR*) echo "refused $(echo "$said" | tr -s '\n' ' ')" ;;
*) echo "rows $(echo "$said" | grep -c OGRFeature)" ;;
esac
