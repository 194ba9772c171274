package catalog

// informationSchema lists the columns of every relation of information_schema that may be read, in their order. They
// are the SQL standard's, so that all versions of PostgreSQL agree on them. An asterisk stands for relations on whose
// columns they do not (table_constraints got nulls_distinct with 15): those are copied row by row, which is slower.
var informationSchema = map[string]string{
	"administrable_role_authorizations": "grantee role_name is_grantable",
	"applicable_roles":                  "grantee role_name is_grantable",
	"attributes": "udt_catalog udt_schema udt_name attribute_name ordinal_position attribute_default is_nullable " +
		"data_type character_maximum_length character_octet_length character_set_catalog character_set_schema " +
		"character_set_name collation_catalog collation_schema collation_name numeric_precision " +
		"numeric_precision_radix numeric_scale datetime_precision interval_type interval_precision " +
		"attribute_udt_catalog attribute_udt_schema attribute_udt_name scope_catalog scope_schema scope_name " +
		"maximum_cardinality dtd_identifier is_derived_reference_attribute",
	"character_sets": "character_set_catalog character_set_schema character_set_name character_repertoire form_of_use " +
		"default_collate_catalog default_collate_schema default_collate_name",
	"check_constraint_routine_usage": "constraint_catalog constraint_schema constraint_name specific_catalog specific_schema specific_name",
	"check_constraints":              "constraint_catalog constraint_schema constraint_name check_clause",
	"collation_character_set_applicability": "collation_catalog collation_schema collation_name character_set_catalog character_set_schema " +
		"character_set_name",
	"collations":          "collation_catalog collation_schema collation_name pad_attribute",
	"column_column_usage": "table_catalog table_schema table_name column_name dependent_column",
	"column_domain_usage": "domain_catalog domain_schema domain_name table_catalog table_schema table_name column_name",
	"column_options":      "table_catalog table_schema table_name column_name option_name option_value",
	"column_privileges":   "grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable",
	"column_udt_usage":    "udt_catalog udt_schema udt_name table_catalog table_schema table_name column_name",
	"columns": "table_catalog table_schema table_name column_name ordinal_position column_default is_nullable " +
		"data_type character_maximum_length character_octet_length numeric_precision numeric_precision_radix " +
		"numeric_scale datetime_precision interval_type interval_precision character_set_catalog " +
		"character_set_schema character_set_name collation_catalog collation_schema collation_name " +
		"domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name scope_catalog scope_schema " +
		"scope_name maximum_cardinality dtd_identifier is_self_referencing is_identity identity_generation " +
		"identity_start identity_increment identity_maximum identity_minimum identity_cycle is_generated " +
		"generation_expression is_updatable",
	"constraint_column_usage": "table_catalog table_schema table_name column_name constraint_catalog constraint_schema " +
		"constraint_name",
	"constraint_table_usage": "table_catalog table_schema table_name constraint_catalog constraint_schema constraint_name",
	"data_type_privileges":   "object_catalog object_schema object_name object_type dtd_identifier",
	"domain_constraints": "constraint_catalog constraint_schema constraint_name domain_catalog domain_schema domain_name " +
		"is_deferrable initially_deferred",
	"domain_udt_usage": "udt_catalog udt_schema udt_name domain_catalog domain_schema domain_name",
	"domains": "domain_catalog domain_schema domain_name data_type character_maximum_length character_octet_length " +
		"character_set_catalog character_set_schema character_set_name collation_catalog collation_schema " +
		"collation_name numeric_precision numeric_precision_radix numeric_scale datetime_precision " +
		"interval_type interval_precision domain_default udt_catalog udt_schema udt_name scope_catalog " +
		"scope_schema scope_name maximum_cardinality dtd_identifier",
	"element_types": "object_catalog object_schema object_name object_type collection_type_identifier data_type " +
		"character_maximum_length character_octet_length character_set_catalog character_set_schema " +
		"character_set_name collation_catalog collation_schema collation_name numeric_precision " +
		"numeric_precision_radix numeric_scale datetime_precision interval_type interval_precision " +
		"domain_default udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name " +
		"maximum_cardinality dtd_identifier",
	"enabled_roles":                "role_name",
	"foreign_data_wrapper_options": "foreign_data_wrapper_catalog foreign_data_wrapper_name option_name option_value",
	"foreign_data_wrappers": "foreign_data_wrapper_catalog foreign_data_wrapper_name authorization_identifier library_name " +
		"foreign_data_wrapper_language",
	"foreign_server_options": "foreign_server_catalog foreign_server_name option_name option_value",
	"foreign_servers": "foreign_server_catalog foreign_server_name foreign_data_wrapper_catalog foreign_data_wrapper_name " +
		"foreign_server_type foreign_server_version authorization_identifier",
	"foreign_table_options": "foreign_table_catalog foreign_table_schema foreign_table_name option_name option_value",
	"foreign_tables": "foreign_table_catalog foreign_table_schema foreign_table_name foreign_server_catalog " +
		"foreign_server_name",
	"information_schema_catalog_name": "catalog_name",
	"key_column_usage": "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name " +
		"column_name ordinal_position position_in_unique_constraint",
	"parameters": "specific_catalog specific_schema specific_name ordinal_position parameter_mode is_result as_locator " +
		"parameter_name data_type character_maximum_length character_octet_length character_set_catalog " +
		"character_set_schema character_set_name collation_catalog collation_schema collation_name " +
		"numeric_precision numeric_precision_radix numeric_scale datetime_precision interval_type " +
		"interval_precision udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name " +
		"maximum_cardinality dtd_identifier parameter_default",
	"referential_constraints": "constraint_catalog constraint_schema constraint_name unique_constraint_catalog " +
		"unique_constraint_schema unique_constraint_name match_option update_rule delete_rule",
	"role_column_grants": "grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable",
	"role_routine_grants": "grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema " +
		"routine_name privilege_type is_grantable",
	"role_table_grants": "grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy",
	"role_udt_grants":   "grantor grantee udt_catalog udt_schema udt_name privilege_type is_grantable",
	"role_usage_grants": "grantor grantee object_catalog object_schema object_name object_type privilege_type is_grantable",
	"routine_column_usage": "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name " +
		"table_catalog table_schema table_name column_name",
	"routine_privileges": "grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema " +
		"routine_name privilege_type is_grantable",
	"routine_routine_usage": "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name",
	"routine_sequence_usage": "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name " +
		"sequence_catalog sequence_schema sequence_name",
	"routine_table_usage": "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name " +
		"table_catalog table_schema table_name",
	"routines": "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name " +
		"routine_type module_catalog module_schema module_name udt_catalog udt_schema udt_name data_type " +
		"character_maximum_length character_octet_length character_set_catalog character_set_schema " +
		"character_set_name collation_catalog collation_schema collation_name numeric_precision " +
		"numeric_precision_radix numeric_scale datetime_precision interval_type interval_precision " +
		"type_udt_catalog type_udt_schema type_udt_name scope_catalog scope_schema scope_name " +
		"maximum_cardinality dtd_identifier routine_body routine_definition external_name external_language " +
		"parameter_style is_deterministic sql_data_access is_null_call sql_path schema_level_routine " +
		"max_dynamic_result_sets is_user_defined_cast is_implicitly_invocable security_type " +
		"to_sql_specific_catalog to_sql_specific_schema to_sql_specific_name as_locator created last_altered " +
		"new_savepoint_level is_udt_dependent result_cast_from_data_type result_cast_as_locator " +
		"result_cast_char_max_length result_cast_char_octet_length result_cast_char_set_catalog " +
		"result_cast_char_set_schema result_cast_char_set_name result_cast_collation_catalog " +
		"result_cast_collation_schema result_cast_collation_name result_cast_numeric_precision " +
		"result_cast_numeric_precision_radix result_cast_numeric_scale result_cast_datetime_precision " +
		"result_cast_interval_type result_cast_interval_precision result_cast_type_udt_catalog " +
		"result_cast_type_udt_schema result_cast_type_udt_name result_cast_scope_catalog " +
		"result_cast_scope_schema result_cast_scope_name result_cast_maximum_cardinality " +
		"result_cast_dtd_identifier",
	"schemata": "catalog_name schema_name schema_owner default_character_set_catalog default_character_set_schema " +
		"default_character_set_name sql_path",
	"sequences": "sequence_catalog sequence_schema sequence_name data_type numeric_precision numeric_precision_radix " +
		"numeric_scale start_value minimum_value maximum_value increment cycle_option",
	"sql_features":            "feature_id feature_name sub_feature_id sub_feature_name is_supported is_verified_by comments",
	"sql_implementation_info": "implementation_info_id implementation_info_name integer_value character_value comments",
	"sql_sizing":              "sizing_id sizing_name supported_value comments",
	"table_constraints":       "*",
	"table_privileges":        "grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy",
	"tables": "table_catalog table_schema table_name table_type self_referencing_column_name reference_generation " +
		"user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into " +
		"is_typed commit_action",
	"triggered_update_columns": "trigger_catalog trigger_schema trigger_name event_object_catalog event_object_schema " +
		"event_object_table event_object_column",
	"triggers": "trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog " +
		"event_object_schema event_object_table action_order action_condition action_statement " +
		"action_orientation action_timing action_reference_old_table action_reference_new_table " +
		"action_reference_old_row action_reference_new_row created",
	"udt_privileges":   "grantor grantee udt_catalog udt_schema udt_name privilege_type is_grantable",
	"usage_privileges": "grantor grantee object_catalog object_schema object_name object_type privilege_type is_grantable",
	"user_defined_types": "user_defined_type_catalog user_defined_type_schema user_defined_type_name user_defined_type_category " +
		"is_instantiable is_final ordering_form ordering_category ordering_routine_catalog " +
		"ordering_routine_schema ordering_routine_name reference_type data_type character_maximum_length " +
		"character_octet_length character_set_catalog character_set_schema character_set_name " +
		"collation_catalog collation_schema collation_name numeric_precision numeric_precision_radix " +
		"numeric_scale datetime_precision interval_type interval_precision source_dtd_identifier " +
		"ref_dtd_identifier",
	"user_mappings":      "authorization_identifier foreign_server_catalog foreign_server_name",
	"view_column_usage":  "view_catalog view_schema view_name table_catalog table_schema table_name column_name",
	"view_routine_usage": "table_catalog table_schema table_name specific_catalog specific_schema specific_name",
	"view_table_usage":   "view_catalog view_schema view_name table_catalog table_schema table_name",
	"views": "table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into " +
		"is_trigger_updatable is_trigger_deletable is_trigger_insertable_into",
}
