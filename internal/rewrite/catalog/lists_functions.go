package catalog

// pureFunctions read nothing but their arguments and do nothing but return. They may run on the shadow and on public.
// An entry stands for all overloads of its name in pg_catalog.
var pureFunctions = words(
	// numbers
	`abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees div
	exp factorial floor gcd lcm ln log log10 min_scale mod pi pow power radians round scale sign sin sind sinh sqrt tan tand
	tanh trim_scale trunc width_bucket bit_count numeric int2 int4 int8 float4 float8 bool oid money isfinite`,
	// text
	`ascii bit_length btrim char char_length character_length chr concat concat_ws decode encode format initcap left length like
	like_escape lower lpad ltrim md5 notlike normalize is_normalized octet_length overlay parse_ident position quote_ident
	quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
	regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim sha224 sha256 sha384
	sha512 similar_escape similar_to_escape split_part starts_with string_to_array string_to_table strpos substr substring
	text textlen to_ascii to_hex translate unistr upper bpchar varchar name convert convert_from convert_to get_bit get_byte
	set_bit set_byte bit varbit pg_client_encoding pg_typeof pg_size_pretty pg_size_bytes num_nonnulls num_nulls pg_input_is_valid`,
	// dates and times
	`age clock_timestamp date date_bin date_part date_trunc extract interval justify_days justify_hours justify_interval
	make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp time timeofday timestamp
	timestamptz timetz timezone to_char to_date to_number to_timestamp transaction_timestamp date_add date_subtract`,
	// arrays, sets of rows, enums, ranges
	`array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
	array_prepend array_remove array_replace array_to_string array_upper cardinality trim_array unnest generate_series
	generate_subscripts enum_first enum_last enum_range isempty lower_inc lower_inf upper_inc upper_inf multirange range_merge
	int4range int8range numrange tsrange tstzrange daterange int4multirange int8multirange nummultirange tsmultirange
	tstzmultirange datemultirange array_sample array_shuffle`,
	// json
	`array_to_json json_agg json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
	json_each json_each_text json_extract_path json_extract_path_text json_object json_object_agg json_object_keys
	json_populate_record json_populate_recordset json_strip_nulls json_to_record json_to_recordset json_typeof jsonb_agg
	jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_concat
	jsonb_contains jsonb_delete jsonb_delete_path jsonb_each jsonb_each_text jsonb_exists jsonb_extract_path
	jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match
	jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_populate_record jsonb_populate_recordset jsonb_pretty
	jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb`,
	// networks, geometry, hashes of values
	`abbrev broadcast family host hostmask inet_merge inet_same_family masklen netmask network set_masklen macaddr8_set7bit
	area box center circle diagonal diameter height isclosed ishorizontal isopen isparallel isperp isvertical line lseg npoints
	path pclose point polygon popen radius slope width bound_box hashtext hashtextextended hashint4 hashint8`,
	// aggregates and window functions
	`array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every
	first_value lag last_value lead max min mode nth_value ntile percent_rank percentile_cont percentile_disc range_agg
	range_intersect_agg rank regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
	row_number stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance any_value`,
)

// chanceFunctions draw: what applications order rows by that they show a few of.
var chanceFunctions = words(`random gen_random_uuid`)

// catalogFunctions read the catalogs of the database that they run in: on the shadow, where there is nothing to hide.
// Those that name objects of the whole cluster (pg_describe_object, acldefault, …) are not among them.
var catalogFunctions = words(
	`aclexplode col_description current_schema current_schemas format_type getdatabaseencoding obj_description
	oidvectortypes pg_available_extensions pg_available_extension_versions pg_char_to_encoding
	pg_collation_for pg_column_is_updatable pg_encoding_max_length pg_encoding_to_char
	pg_extension_update_paths pg_get_catalog_foreign_keys pg_get_constraintdef pg_get_expr pg_get_function_arg_default
	pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_function_sqlbody
	pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partition_constraintdef pg_get_partkeydef
	pg_get_publication_tables pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef
	pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_get_triggerdef pg_get_viewdef
	pg_index_column_has_property pg_index_has_property
	pg_indexam_has_property pg_is_in_recovery pg_is_other_temp_schema pg_jit_available pg_my_temp_schema pg_options_to_table
	pg_partition_ancestors pg_partition_root pg_partition_tree pg_relation_is_publishable pg_relation_is_updatable
	pg_sequence_parameters pg_settings_get_flags pg_timezone_abbrevs pg_timezone_names row_security_active to_regclass
	to_regcollation to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure to_regtype regclass version
	pg_basetype get_current_ts_config`,
	`pg_collation_is_visible pg_conversion_is_visible pg_function_is_visible pg_opclass_is_visible pg_operator_is_visible
	pg_opfamily_is_visible pg_statistics_obj_is_visible pg_table_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible
	pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible`,
	`has_any_column_privilege has_column_privilege has_foreign_data_wrapper_privilege has_function_privilege
	has_language_privilege has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
	has_tablespace_privilege has_type_privilege has_parameter_privilege pg_has_role`,
)

// privilegeFunctions may take a user as their first argument.
var privilegeFunctions = words(`has_any_column_privilege has_column_privilege has_foreign_data_wrapper_privilege
	has_function_privilege has_language_privilege has_schema_privilege has_sequence_privilege has_server_privilege
	has_table_privilege has_tablespace_privilege has_type_privilege pg_has_role`)

// informationFunctions are the helpers of information_schema that drivers call.
var informationFunctions = words(`_pg_char_max_length _pg_char_octet_length _pg_datetime_precision _pg_expandarray
	_pg_index_position _pg_interval_type _pg_numeric_precision _pg_numeric_precision_radix _pg_numeric_scale _pg_truetypid
	_pg_truetypmod`)
