-- Tables, columns and types of MIMIC-IV 2.0; its script creates them without keys.
-- nobody: mimic_hosp.d_hcpcs, mimic_hosp.d_icd_diagnoses, mimic_hosp.d_icd_procedures, mimic_hosp.d_labitems, mimic_icu.d_items
CREATE SCHEMA mimic_hosp;
CREATE SCHEMA mimic_icu;
SET search_path = mimic_hosp;
CREATE TABLE admissions (subject_id int NOT NULL, hadm_id int NOT NULL, admittime timestamp NOT NULL, dischtime timestamp, deathtime timestamp,
    admission_type varchar(40) NOT NULL, admission_location varchar(60), discharge_location varchar(60), insurance varchar(255), language varchar(10),
    marital_status varchar(30), race varchar(80), edregtime timestamp, edouttime timestamp, hospital_expire_flag smallint);
CREATE TABLE d_hcpcs (code char(5) NOT NULL, category smallint, long_description text, short_description varchar(180));
CREATE TABLE diagnoses_icd (subject_id int NOT NULL, hadm_id int NOT NULL, seq_num int NOT NULL, icd_code char(7), icd_version smallint);
CREATE TABLE d_icd_diagnoses (icd_code char(7) NOT NULL, icd_version smallint NOT NULL, long_title varchar(255));
CREATE TABLE d_icd_procedures (icd_code char(7) NOT NULL, icd_version smallint NOT NULL, long_title varchar(222));
CREATE TABLE d_labitems (itemid int NOT NULL, label varchar(50), fluid varchar(50), category varchar(50));
CREATE TABLE drgcodes (subject_id int NOT NULL, hadm_id int NOT NULL, drg_type varchar(4), drg_code varchar(10) NOT NULL, description varchar(195), drg_severity smallint, drg_mortality smallint);
CREATE TABLE emar_detail (subject_id int NOT NULL, emar_id varchar(25) NOT NULL, emar_seq int NOT NULL, administration_type varchar(50), pharmacy_id int,
    reason_for_no_barcode text, dose_due varchar(100), dose_given varchar(255), product_code varchar(30), product_description varchar(255), route varchar(10));
CREATE TABLE emar (subject_id int NOT NULL, hadm_id int, emar_id varchar(25) NOT NULL, emar_seq int NOT NULL, poe_id varchar(25) NOT NULL, pharmacy_id int,
    charttime timestamp NOT NULL, medication text, event_txt varchar(100), scheduletime timestamp, storetime timestamp NOT NULL);
CREATE TABLE hcpcsevents (subject_id int NOT NULL, hadm_id int NOT NULL, chartdate timestamp NOT NULL, hcpcs_cd char(5) NOT NULL, seq_num int NOT NULL, short_description varchar(180));
CREATE TABLE labevents (labevent_id int NOT NULL, subject_id int NOT NULL, hadm_id int, specimen_id int NOT NULL, itemid int NOT NULL, charttime timestamp,
    storetime timestamp, value varchar(200), valuenum float, valueuom varchar(20), ref_range_lower float, ref_range_upper float, flag varchar(10), priority varchar(7), comments text);
CREATE TABLE microbiologyevents (microevent_id int NOT NULL, subject_id int NOT NULL, hadm_id int, micro_specimen_id int NOT NULL, chartdate timestamp NOT NULL,
    charttime timestamp, spec_itemid int NOT NULL, spec_type_desc varchar(100) NOT NULL, test_seq int NOT NULL, test_itemid int, test_name varchar(100),
    org_itemid int, org_name varchar(100), isolate_num smallint, quantity varchar(50), ab_itemid int, ab_name varchar(30), interpretation varchar(5), comments text);
CREATE TABLE omr (subject_id int NOT NULL, chartdate timestamp NOT NULL, seq_num int NOT NULL, result_name varchar(255) NOT NULL, result_value varchar(255) NOT NULL);
CREATE TABLE patients (subject_id int NOT NULL, gender char(1) NOT NULL, anchor_age smallint, anchor_year smallint NOT NULL, anchor_year_group varchar(20) NOT NULL, dod date);
CREATE TABLE pharmacy (subject_id int NOT NULL, hadm_id int NOT NULL, pharmacy_id int NOT NULL, poe_id varchar(25), starttime timestamp, stoptime timestamp,
    medication text, proc_type varchar(50) NOT NULL, status varchar(50), route varchar(50), frequency varchar(50), disp_sched varchar(255), fill_quantity varchar(50));
CREATE TABLE poe_detail (poe_id varchar(25) NOT NULL, poe_seq int NOT NULL, subject_id int NOT NULL, field_name varchar(255) NOT NULL, field_value text);
CREATE TABLE poe (poe_id varchar(25) NOT NULL, poe_seq int NOT NULL, subject_id int NOT NULL, hadm_id int, ordertime timestamp NOT NULL, order_type varchar(25) NOT NULL,
    order_subtype varchar(50), transaction_type varchar(15), discontinue_of_poe_id varchar(25), discontinued_by_poe_id varchar(25), order_status varchar(15));
CREATE TABLE prescriptions (subject_id int NOT NULL, hadm_id int NOT NULL, pharmacy_id int NOT NULL, poe_id varchar(25), poe_seq int, starttime timestamp,
    stoptime timestamp, drug_type varchar(20) NOT NULL, drug varchar(255) NOT NULL, gsn varchar(255), ndc varchar(25), prod_strength varchar(255), route varchar(50));
CREATE TABLE procedures_icd (subject_id int NOT NULL, hadm_id int NOT NULL, seq_num int NOT NULL, chartdate timestamp NOT NULL, icd_code varchar(7), icd_version smallint);
CREATE TABLE services (subject_id int NOT NULL, hadm_id int NOT NULL, transfertime timestamp NOT NULL, prev_service varchar(10), curr_service varchar(10));
CREATE TABLE transfers (subject_id int NOT NULL, hadm_id int, transfer_id int NOT NULL, eventtype varchar(10), careunit varchar(255), intime timestamp, outtime timestamp);
SET search_path = mimic_icu;
CREATE TABLE chartevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int NOT NULL, charttime timestamp NOT NULL, storetime timestamp, itemid int NOT NULL,
    value varchar(200), valuenum float, valueuom varchar(20), warning smallint);
CREATE TABLE datetimeevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int NOT NULL, charttime timestamp NOT NULL, storetime timestamp, itemid int NOT NULL,
    value timestamp NOT NULL, valueuom varchar(20), warning smallint);
CREATE TABLE d_items (itemid int NOT NULL, label varchar(100) NOT NULL, abbreviation varchar(50) NOT NULL, linksto varchar(30) NOT NULL, category varchar(50) NOT NULL,
    unitname varchar(50), param_type varchar(20) NOT NULL, lownormalvalue float, highnormalvalue float);
CREATE TABLE icustays (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int NOT NULL, first_careunit varchar(255), last_careunit varchar(255), intime timestamp, outtime timestamp, los float);
CREATE TABLE ingredientevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int, starttime timestamp NOT NULL, endtime timestamp NOT NULL, itemid int NOT NULL,
    amount float, amountuom varchar(20), rate float, rateuom varchar(20), orderid int NOT NULL, linkorderid int, statusdescription varchar(20));
CREATE TABLE inputevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int, starttime timestamp NOT NULL, endtime timestamp NOT NULL, itemid int NOT NULL,
    amount float, amountuom varchar(20), orderid int NOT NULL, linkorderid int, ordercategoryname varchar(50), patientweight float, statusdescription varchar(20));
CREATE TABLE outputevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int NOT NULL, charttime timestamp NOT NULL, storetime timestamp NOT NULL, itemid int NOT NULL, value float NOT NULL, valueuom varchar(20));
CREATE TABLE procedureevents (subject_id int NOT NULL, hadm_id int NOT NULL, stay_id int NOT NULL, starttime timestamp NOT NULL, endtime timestamp NOT NULL, itemid int NOT NULL,
    value float, location varchar(100), locationcategory varchar(50), orderid int, linkorderid int, ordercategoryname varchar(50), patientweight float, statusdescription varchar(20));
