-- Tables, columns, types and primary keys of the OMOP Common Data Model 5.4.
-- nobody: care_site, cdm_source, cohort_definition, concept, concept_ancestor, concept_class, concept_relationship, concept_synonym, domain, drug_strength, metadata, relationship, source_to_concept_map, vocabulary
CREATE TABLE person (person_id int PRIMARY KEY, gender_concept_id int NOT NULL, year_of_birth int NOT NULL, month_of_birth int, day_of_birth int,
    birth_datetime timestamp, race_concept_id int NOT NULL, ethnicity_concept_id int NOT NULL, location_id int, provider_id int, care_site_id int,
    person_source_value varchar(50), gender_source_value varchar(50), gender_source_concept_id int, race_source_value varchar(50),
    race_source_concept_id int, ethnicity_source_value varchar(50), ethnicity_source_concept_id int);
CREATE TABLE observation_period (observation_period_id int PRIMARY KEY, person_id int NOT NULL, observation_period_start_date date NOT NULL,
    observation_period_end_date date NOT NULL, period_type_concept_id int NOT NULL);
CREATE TABLE visit_occurrence (visit_occurrence_id int PRIMARY KEY, person_id int NOT NULL, visit_concept_id int NOT NULL, visit_start_date date NOT NULL,
    visit_start_datetime timestamp, visit_end_date date NOT NULL, visit_end_datetime timestamp, visit_type_concept_id int NOT NULL, provider_id int,
    care_site_id int, visit_source_value varchar(50), visit_source_concept_id int, admitted_from_concept_id int, admitted_from_source_value varchar(50),
    discharged_to_concept_id int, discharged_to_source_value varchar(50), preceding_visit_occurrence_id int);
CREATE TABLE visit_detail (visit_detail_id int PRIMARY KEY, person_id int NOT NULL, visit_detail_concept_id int NOT NULL, visit_detail_start_date date NOT NULL,
    visit_detail_start_datetime timestamp, visit_detail_end_date date NOT NULL, visit_detail_end_datetime timestamp, visit_detail_type_concept_id int NOT NULL,
    provider_id int, care_site_id int, visit_detail_source_value varchar(50), visit_detail_source_concept_id int, admitted_from_concept_id int,
    admitted_from_source_value varchar(50), discharged_to_source_value varchar(50), discharged_to_concept_id int, preceding_visit_detail_id int,
    parent_visit_detail_id int, visit_occurrence_id int NOT NULL);
CREATE TABLE condition_occurrence (condition_occurrence_id int PRIMARY KEY, person_id int NOT NULL, condition_concept_id int NOT NULL, condition_start_date date NOT NULL,
    condition_start_datetime timestamp, condition_end_date date, condition_end_datetime timestamp, condition_type_concept_id int NOT NULL,
    condition_status_concept_id int, stop_reason varchar(20), provider_id int, visit_occurrence_id int, visit_detail_id int, condition_source_value varchar(50),
    condition_source_concept_id int, condition_status_source_value varchar(50));
CREATE TABLE drug_exposure (drug_exposure_id int PRIMARY KEY, person_id int NOT NULL, drug_concept_id int NOT NULL, drug_exposure_start_date date NOT NULL,
    drug_exposure_start_datetime timestamp, drug_exposure_end_date date NOT NULL, drug_exposure_end_datetime timestamp, verbatim_end_date date,
    drug_type_concept_id int NOT NULL, stop_reason varchar(20), refills int, quantity numeric, days_supply int, sig text, route_concept_id int,
    lot_number varchar(50), provider_id int, visit_occurrence_id int, visit_detail_id int, drug_source_value varchar(50), drug_source_concept_id int,
    route_source_value varchar(50), dose_unit_source_value varchar(50));
CREATE TABLE procedure_occurrence (procedure_occurrence_id int PRIMARY KEY, person_id int NOT NULL, procedure_concept_id int NOT NULL, procedure_date date NOT NULL,
    procedure_datetime timestamp, procedure_end_date date, procedure_end_datetime timestamp, procedure_type_concept_id int NOT NULL, modifier_concept_id int,
    quantity int, provider_id int, visit_occurrence_id int, visit_detail_id int, procedure_source_value varchar(50), procedure_source_concept_id int,
    modifier_source_value varchar(50));
CREATE TABLE device_exposure (device_exposure_id int PRIMARY KEY, person_id int NOT NULL, device_concept_id int NOT NULL, device_exposure_start_date date NOT NULL,
    device_exposure_start_datetime timestamp, device_exposure_end_date date, device_exposure_end_datetime timestamp, device_type_concept_id int NOT NULL,
    unique_device_id varchar(255), production_id varchar(255), quantity int, provider_id int, visit_occurrence_id int, visit_detail_id int,
    device_source_value varchar(50), device_source_concept_id int, unit_concept_id int, unit_source_value varchar(50), unit_source_concept_id int);
CREATE TABLE measurement (measurement_id int PRIMARY KEY, person_id int NOT NULL, measurement_concept_id int NOT NULL, measurement_date date NOT NULL,
    measurement_datetime timestamp, measurement_time varchar(10), measurement_type_concept_id int NOT NULL, operator_concept_id int, value_as_number numeric,
    value_as_concept_id int, unit_concept_id int, range_low numeric, range_high numeric, provider_id int, visit_occurrence_id int, visit_detail_id int,
    measurement_source_value varchar(50), measurement_source_concept_id int, unit_source_value varchar(50), unit_source_concept_id int,
    value_source_value varchar(50), measurement_event_id int, meas_event_field_concept_id int);
CREATE TABLE observation (observation_id int PRIMARY KEY, person_id int NOT NULL, observation_concept_id int NOT NULL, observation_date date NOT NULL,
    observation_datetime timestamp, observation_type_concept_id int NOT NULL, value_as_number numeric, value_as_string varchar(60), value_as_concept_id int,
    qualifier_concept_id int, unit_concept_id int, provider_id int, visit_occurrence_id int, visit_detail_id int, observation_source_value varchar(50),
    observation_source_concept_id int, unit_source_value varchar(50), qualifier_source_value varchar(50), value_source_value varchar(50),
    observation_event_id int, obs_event_field_concept_id int);
CREATE TABLE death (person_id int NOT NULL, death_date date NOT NULL, death_datetime timestamp, death_type_concept_id int, cause_concept_id int,
    cause_source_value varchar(50), cause_source_concept_id int);
CREATE TABLE note (note_id int PRIMARY KEY, person_id int NOT NULL, note_date date NOT NULL, note_datetime timestamp, note_type_concept_id int NOT NULL,
    note_class_concept_id int NOT NULL, note_title varchar(250), note_text text NOT NULL, encoding_concept_id int NOT NULL, language_concept_id int NOT NULL,
    provider_id int, visit_occurrence_id int, visit_detail_id int, note_source_value varchar(50), note_event_id int, note_event_field_concept_id int);
CREATE TABLE note_nlp (note_nlp_id int PRIMARY KEY, note_id int NOT NULL, section_concept_id int, snippet varchar(250), "offset" varchar(50),
    lexical_variant varchar(250) NOT NULL, note_nlp_concept_id int, note_nlp_source_concept_id int, nlp_system varchar(250), nlp_date date NOT NULL,
    nlp_datetime timestamp, term_exists varchar(1), term_temporal varchar(50), term_modifiers varchar(2000));
CREATE TABLE specimen (specimen_id int PRIMARY KEY, person_id int NOT NULL, specimen_concept_id int NOT NULL, specimen_type_concept_id int NOT NULL,
    specimen_date date NOT NULL, specimen_datetime timestamp, quantity numeric, unit_concept_id int, anatomic_site_concept_id int, disease_status_concept_id int,
    specimen_source_id varchar(50), specimen_source_value varchar(50), unit_source_value varchar(50), anatomic_site_source_value varchar(50),
    disease_status_source_value varchar(50));
CREATE TABLE fact_relationship (domain_concept_id_1 int NOT NULL, fact_id_1 int NOT NULL, domain_concept_id_2 int NOT NULL, fact_id_2 int NOT NULL,
    relationship_concept_id int NOT NULL);
CREATE TABLE location (location_id int PRIMARY KEY, address_1 varchar(50), address_2 varchar(50), city varchar(50), state varchar(2), zip varchar(9),
    county varchar(20), location_source_value varchar(50), country_concept_id int, country_source_value varchar(80), latitude numeric, longitude numeric);
CREATE TABLE care_site (care_site_id int PRIMARY KEY, care_site_name varchar(255), place_of_service_concept_id int, location_id int,
    care_site_source_value varchar(50), place_of_service_source_value varchar(50));
CREATE TABLE provider (provider_id int PRIMARY KEY, provider_name varchar(255), npi varchar(20), dea varchar(20), specialty_concept_id int, care_site_id int,
    year_of_birth int, gender_concept_id int, provider_source_value varchar(50), specialty_source_value varchar(50), specialty_source_concept_id int,
    gender_source_value varchar(50), gender_source_concept_id int);
CREATE TABLE payer_plan_period (payer_plan_period_id int PRIMARY KEY, person_id int NOT NULL, payer_plan_period_start_date date NOT NULL,
    payer_plan_period_end_date date NOT NULL, payer_concept_id int, payer_source_value varchar(50), payer_source_concept_id int, plan_concept_id int,
    plan_source_value varchar(50), plan_source_concept_id int, sponsor_concept_id int, sponsor_source_value varchar(50), sponsor_source_concept_id int,
    family_source_value varchar(50), stop_reason_concept_id int, stop_reason_source_value varchar(50), stop_reason_source_concept_id int);
CREATE TABLE cost (cost_id int PRIMARY KEY, cost_event_id int NOT NULL, cost_domain_id varchar(20) NOT NULL, cost_type_concept_id int NOT NULL,
    currency_concept_id int, total_charge numeric, total_cost numeric, total_paid numeric, paid_by_payer numeric, paid_by_patient numeric,
    paid_patient_copay numeric, paid_patient_coinsurance numeric, paid_patient_deductible numeric, paid_by_primary numeric, paid_ingredient_cost numeric,
    paid_dispensing_fee numeric, payer_plan_period_id int, amount_allowed numeric, revenue_code_concept_id int, revenue_code_source_value varchar(50),
    drg_concept_id int, drg_source_value varchar(3));
CREATE TABLE drug_era (drug_era_id int PRIMARY KEY, person_id int NOT NULL, drug_concept_id int NOT NULL, drug_era_start_date date NOT NULL,
    drug_era_end_date date NOT NULL, drug_exposure_count int, gap_days int);
CREATE TABLE dose_era (dose_era_id int PRIMARY KEY, person_id int NOT NULL, drug_concept_id int NOT NULL, unit_concept_id int NOT NULL, dose_value numeric NOT NULL,
    dose_era_start_date date NOT NULL, dose_era_end_date date NOT NULL);
CREATE TABLE condition_era (condition_era_id int PRIMARY KEY, person_id int NOT NULL, condition_concept_id int NOT NULL, condition_era_start_date date NOT NULL,
    condition_era_end_date date NOT NULL, condition_occurrence_count int);
CREATE TABLE episode (episode_id int PRIMARY KEY, person_id int NOT NULL, episode_concept_id int NOT NULL, episode_start_date date NOT NULL,
    episode_start_datetime timestamp, episode_end_date date, episode_end_datetime timestamp, episode_parent_id int, episode_number int,
    episode_object_concept_id int NOT NULL, episode_type_concept_id int NOT NULL, episode_source_value varchar(50), episode_source_concept_id int);
CREATE TABLE episode_event (episode_id int NOT NULL, event_id int NOT NULL, episode_event_field_concept_id int NOT NULL);
CREATE TABLE metadata (metadata_id int PRIMARY KEY, metadata_concept_id int NOT NULL, metadata_type_concept_id int NOT NULL, name varchar(250) NOT NULL,
    value_as_string varchar(250), value_as_concept_id int, value_as_number numeric, metadata_date date, metadata_datetime timestamp);
CREATE TABLE cdm_source (cdm_source_name varchar(255) NOT NULL, cdm_source_abbreviation varchar(25) NOT NULL, cdm_holder varchar(255) NOT NULL,
    source_description text, source_documentation_reference varchar(255), cdm_etl_reference varchar(255), source_release_date date NOT NULL,
    cdm_release_date date NOT NULL, cdm_version varchar(10), cdm_version_concept_id int NOT NULL, vocabulary_version varchar(20) NOT NULL);
CREATE TABLE concept (concept_id int PRIMARY KEY, concept_name varchar(255) NOT NULL, domain_id varchar(20) NOT NULL, vocabulary_id varchar(20) NOT NULL,
    concept_class_id varchar(20) NOT NULL, standard_concept varchar(1), concept_code varchar(50) NOT NULL, valid_start_date date NOT NULL,
    valid_end_date date NOT NULL, invalid_reason varchar(1));
CREATE TABLE vocabulary (vocabulary_id varchar(20) NOT NULL, vocabulary_name varchar(255) NOT NULL, vocabulary_reference varchar(255),
    vocabulary_version varchar(255), vocabulary_concept_id int NOT NULL);
CREATE TABLE domain (domain_id varchar(20) PRIMARY KEY, domain_name varchar(255) NOT NULL, domain_concept_id int NOT NULL);
CREATE TABLE concept_class (concept_class_id varchar(20) PRIMARY KEY, concept_class_name varchar(255) NOT NULL, concept_class_concept_id int NOT NULL);
CREATE TABLE concept_relationship (concept_id_1 int NOT NULL, concept_id_2 int NOT NULL, relationship_id varchar(20) NOT NULL, valid_start_date date NOT NULL,
    valid_end_date date NOT NULL, invalid_reason varchar(1));
CREATE TABLE relationship (relationship_id varchar(20) PRIMARY KEY, relationship_name varchar(255) NOT NULL, is_hierarchical varchar(1) NOT NULL,
    defines_ancestry varchar(1) NOT NULL, reverse_relationship_id varchar(20) NOT NULL, relationship_concept_id int NOT NULL);
CREATE TABLE concept_synonym (concept_id int NOT NULL, concept_synonym_name varchar(1000) NOT NULL, language_concept_id int NOT NULL);
CREATE TABLE concept_ancestor (ancestor_concept_id int NOT NULL, descendant_concept_id int NOT NULL, min_levels_of_separation int NOT NULL,
    max_levels_of_separation int NOT NULL);
CREATE TABLE source_to_concept_map (source_code varchar(50) NOT NULL, source_concept_id int NOT NULL, source_vocabulary_id varchar(20) NOT NULL,
    source_code_description varchar(255), target_concept_id int NOT NULL, target_vocabulary_id varchar(20) NOT NULL, valid_start_date date NOT NULL,
    valid_end_date date NOT NULL, invalid_reason varchar(1));
CREATE TABLE drug_strength (drug_concept_id int NOT NULL, ingredient_concept_id int NOT NULL, amount_value numeric, amount_unit_concept_id int,
    numerator_value numeric, numerator_unit_concept_id int, denominator_value numeric, denominator_unit_concept_id int, box_size int,
    valid_start_date date NOT NULL, valid_end_date date NOT NULL, invalid_reason varchar(1));
CREATE TABLE cohort (cohort_definition_id int NOT NULL, subject_id int NOT NULL, cohort_start_date date NOT NULL, cohort_end_date date NOT NULL);
CREATE TABLE cohort_definition (cohort_definition_id int NOT NULL, cohort_definition_name varchar(255) NOT NULL, cohort_definition_description text,
    definition_type_concept_id int NOT NULL, cohort_definition_syntax text, subject_concept_id int NOT NULL, cohort_initiation_date date);
