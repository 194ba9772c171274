-- The foreign keys of the OMOP Common Data Model 5.4: concepts, and columns that have the name of a table's key. Cohorts and costs have none to people.
ALTER TABLE vocabulary ADD PRIMARY KEY (vocabulary_id);
DO $$ DECLARE c record; BEGIN
    FOR c IN SELECT table_name AS child, column_name AS "column" FROM information_schema.columns WHERE table_schema = 'public' LOOP
        IF c."column" ~ 'concept_id(_[12])?$' AND (c.child, c."column") <> ('concept', 'concept_id') THEN
            EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (%I) REFERENCES concept', c.child, c."column");
        ELSIF c."column" IN ('person_id', 'visit_occurrence_id', 'visit_detail_id', 'provider_id', 'care_site_id', 'location_id', 'note_id', 'episode_id',
                'vocabulary_id', 'domain_id', 'concept_class_id', 'relationship_id') AND c."column" <> c.child || '_id' THEN
            EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (%I) REFERENCES %I', c.child, c."column", left(c."column", -3));
        END IF;
    END LOOP;
    ALTER TABLE visit_occurrence ADD FOREIGN KEY (preceding_visit_occurrence_id) REFERENCES visit_occurrence;
    ALTER TABLE visit_detail ADD FOREIGN KEY (preceding_visit_detail_id) REFERENCES visit_detail, ADD FOREIGN KEY (parent_visit_detail_id) REFERENCES visit_detail;
    ALTER TABLE episode ADD FOREIGN KEY (episode_parent_id) REFERENCES episode;
    ALTER TABLE cost ADD FOREIGN KEY (cost_domain_id) REFERENCES domain;
    ALTER TABLE source_to_concept_map ADD FOREIGN KEY (target_vocabulary_id) REFERENCES vocabulary;
END $$;
