-- sqlalchemy: get_view_definition

SELECT pg_get_viewdef(c.oid) view_def FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = 'visit_costs' AND c.relkind IN ('v', 'm')
;
