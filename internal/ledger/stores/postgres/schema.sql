-- The budget ledger of dpproxy. Records are only ever added: grants and a trigger see to it.
CREATE SCHEMA IF NOT EXISTS dpproxy_ledger;
REVOKE ALL ON SCHEMA dpproxy_ledger FROM PUBLIC;

CREATE TABLE IF NOT EXISTS dpproxy_ledger.meta (
    name  text COLLATE "C" PRIMARY KEY, -- format, orders, key (of the answers)
    value bytea NOT NULL
);

-- Totals, derived from the records and written with them. The empty name is the group: all analysts together.
CREATE TABLE IF NOT EXISTS dpproxy_ledger.account (
    name  text COLLATE "C" PRIMARY KEY,
    state bytea NOT NULL
);

CREATE TABLE IF NOT EXISTS dpproxy_ledger.record (
    analyst     text COLLATE "C" NOT NULL,
    n           bigint NOT NULL CHECK (n > 0), -- of the analyst, without gaps
    at          timestamptz NOT NULL,
    kind        smallint NOT NULL,             -- 1 period, 2 charge, 3 failed statement, 4 failures cleared, 5 checkpoint, 6 charge of an answer
                                               -- that all analysts have paid for
    payload     bytea NOT NULL,                -- the record itself: `dpproxy budget export` prints it
    chain       bytea NOT NULL,                -- hash of the record and of all before it
    PRIMARY KEY (analyst, n)
);

-- Rényi divergences of charges, which name them.
CREATE TABLE IF NOT EXISTS dpproxy_ledger.curve (
    id          bytea PRIMARY KEY, -- hash of the divergences
    divergences bytea NOT NULL
);

CREATE TABLE IF NOT EXISTS dpproxy_ledger.answer (
    hash    bytea PRIMARY KEY,
    expires timestamptz NOT NULL,
    sealed  bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS answer_expires ON dpproxy_ledger.answer (expires);

-- Questions that analysts of the console have saved: no part of the ledger.
CREATE TABLE IF NOT EXISTS dpproxy_ledger.question (
    database text COLLATE "C" NOT NULL,
    analyst  text COLLATE "C" NOT NULL,
    list     bytea NOT NULL,
    PRIMARY KEY (database, analyst)
);

CREATE OR REPLACE FUNCTION dpproxy_ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the budget ledger is append-only' USING HINT = 'dpproxy budget reset opens a new period.';
END $$;
DROP TRIGGER IF EXISTS append_only ON dpproxy_ledger.record;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dpproxy_ledger.record
    FOR EACH STATEMENT EXECUTE FUNCTION dpproxy_ledger.refuse();
DROP TRIGGER IF EXISTS append_only ON dpproxy_ledger.curve;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dpproxy_ledger.curve
    FOR EACH STATEMENT EXECUTE FUNCTION dpproxy_ledger.refuse();

GRANT USAGE ON SCHEMA dpproxy_ledger TO :role;
GRANT SELECT, INSERT ON dpproxy_ledger.meta, dpproxy_ledger.record, dpproxy_ledger.curve TO :role;
GRANT SELECT, INSERT, UPDATE ON dpproxy_ledger.account TO :role;
GRANT SELECT, INSERT, UPDATE, DELETE ON dpproxy_ledger.answer TO :role;
GRANT SELECT, INSERT, UPDATE ON dpproxy_ledger.question TO :role;
