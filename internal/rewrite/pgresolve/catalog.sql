-- Reads from PostgreSQL's catalogs what catalog.txt holds: psql -XAtF ' ' -f catalog.sql template1 > catalog.txt
-- type: OID name category preferred arrayOID
SELECT 'type', oid, typname, typcategory, typispreferred::int, typarray FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'p', 'r', 'm') AND typcategory <> 'A' AND oid < 10000 ORDER BY oid;
-- cast: source target context(i implicit, a assignment, e explicit)
SELECT 'cast', s.typname, t.typname, castcontext FROM pg_cast JOIN pg_type s ON s.oid = castsource JOIN pg_type t ON t.oid = casttarget
WHERE s.oid < 10000 AND t.oid < 10000 AND s.oid <> t.oid ORDER BY 2, 3;
-- oper: name left(- for prefix) right result
SELECT 'oper', oprname, coalesce(l.typname, '-'), r.typname, t.typname FROM pg_operator
LEFT JOIN pg_type l ON l.oid = oprleft JOIN pg_type r ON r.oid = oprright JOIN pg_type t ON t.oid = oprresult
WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprname IN ('+','-','*','/','%','^','@','|/','||/','=','<>','<','<=','>','>=','||','~~','!~~','~~*','!~~*','~','!~','~*','!~*','^@','&','|','#','<<','>>')
ORDER BY oprname COLLATE "C", pg_operator.oid;
-- func: name result arguments. What stands here may be computed of constants on the shadow: it is not volatile, and reads and does nothing else.
SELECT 'func', proname, t.typname, array_to_string(ARRAY(SELECT a.typname FROM unnest(proargtypes) WITH ORDINALITY u(o, n) JOIN pg_type a ON a.oid = u.o ORDER BY n), ' ') FROM pg_proc
JOIN pg_type t ON t.oid = prorettype
WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND provolatile <> 'v' AND NOT proretset AND provariadic = 0 AND proname IN (
 'abs','sign','floor','ceil','ceiling','round','trunc','mod','div','sqrt','cbrt','ln','log','log10','exp','power','pow','width_bucket',
 'extract','date_part','date_trunc','age','to_char','isfinite','timezone','make_date','justify_hours','justify_days','justify_interval',
 'lower','upper','initcap','length','char_length','character_length','octet_length','left','right','btrim','ltrim','rtrim','position','strpos',
 'substring','substr','starts_with','ascii','reverse','md5','replace','lpad','rpad','split_part','translate','now','transaction_timestamp',
 'statement_timestamp','similar_to_escape','like_escape','like','notlike','degrees','radians','pi','gcd','lcm','sin','cos','tan','atan','atan2',
 'int2','int4','int8','float4','float8','numeric','text','varchar','bpchar','date','timestamp','timestamptz','time','interval','bool','to_date','to_timestamp','date_bin','overlaps',
 'make_time','make_timestamp','make_interval','bit_length','to_hex','asin','acos','sinh','tanh','repeat','overlay',
 'make_timestamptz','to_number','string_to_array','array_length','array_lower','array_upper','array_position','array_to_string','cardinality',
 'regexp_replace','regexp_match','regexp_substr','regexp_like','regexp_count','regexp_instr','regexp_split_to_array','chr','scale','min_scale','trim_scale',
 'acosd','asind','atand','atan2d','cosd','sind','tand','cot','cotd','acosh','asinh','atanh','cosh','factorial','bit_count','unistr','normalize','quote_ident','quote_literal',
 'int4range','int8range','numrange','tsrange','tstzrange','daterange','isempty','lower_inc','upper_inc','lower_inf','upper_inf')
ORDER BY proname, pg_proc.oid;
