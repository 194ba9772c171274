package engine

import "testing"

// TestStatements plays (statements, state, fault) → (messages, charge). Every call on a database or the ledger is a line, so
// that the order of charge and measure is part of what is expected.
func TestStatements(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"a statement is checked, charged, measured, kept and finished", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75
			> metrics
			private 1
			charged 50`},
		{"a grouped statement has a row for each key that rows have, or for each: one question", `
			> ask SELECT ward, count(*) FROM patients GROUP BY ward
			describe
			evaluate
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {"north"} | {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> set dpproxy.empty_groups keep
			> ask SELECT ward, count(*) FROM patients GROUP BY ward
			run on shadow
			close
			row {"north","south"} | {41,0}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left`},
		{"a statement of public tables costs nothing", `
			> ask SELECT ward FROM wards
			describe
			run on public
			row
			SELECT 1
			close
			> left
			left 125
			> metrics
			public 1
			charged 0`},
		{"a statement without tables runs on the shadow", `
			> ask SELECT 1
			describe
			run on shadow
			row
			SELECT 1
			close
			> left
			left 125`},
		{"what is no SQL is refused", `
			> ask SELEC 1
			ERROR 42601 syntax error at or near "SELEC"`},
		{"the shadow refuses a name", `
			> fault describe syntax
			> ask SELECT count(*) FROM patients
			describe
			ERROR 42703 column "x" does not exist
			> metrics
			refused 1
			charged 0`},
		{"rewrite refuses a private row", `
			> ask SELECT id FROM patients
			describe
			ERROR 42501 rows of a private table are never returned
			> left
			left 125`},
		{"the budget pays as many statements as fit, and not one more", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> ask SELECT count(*) FROM patients WHERE age > 40
			describe
			check
			ERROR 53400 this would take 40% of your budget, of which 20% is left
			> left
			left 25
			> set dpproxy.epsilon 25
			> ask SELECT count(*) FROM patients WHERE age > 40
			check
			spend 25
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 20% of your budget spent, 0% left, enough for 0 like this
			> left
			left 0
			> set dpproxy.epsilon 0.001
			> ask SELECT count(*) FROM patients WHERE age > 30
			check
			ERROR 53400 this would take 0.0008% of your budget, of which 0% is left`},
		{"ε beyond the policy is refused before anything is asked of main", `
			> set dpproxy.epsilon 61
			> ask SELECT count(*) FROM patients
			describe
			ERROR 22023 this statement would cost epsilon 61; at most 60 is allowed
			> left
			left 125`},
		{"EXPLAIN charges nothing, measures nothing and keeps nothing", `
			> explain SELECT count(*) FROM patients
			describe
			check
			row Private answer  (cost=0.00..0.00 rows=1 width=0)
			row share: 40% of your budget; 100% is left, enough for 2 such
			row margin: ±0 (95%)
			row epsilon: 50
			> explain SELECT ward FROM wards
			describe
			row dpproxy: this statement reads nothing private; it costs no budget  (cost=0.00..0.00 rows=1000 width=0)
			> left
			left 125
			> metrics
			charged 0`},
		{"EXPLAIN says what is known and what would be refused", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> explain SELECT count(*) FROM patients
			describe
			check
			row Private answer  (cost=0.00..0.00 rows=1 width=0)
			row share: nothing of your budget; 60% is left
			row cached: the answer is known and would cost nothing
			row margin: ±0 (95%)
			row epsilon: 50
			> explain SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			row Private answer  (cost=0.00..0.00 rows=1 width=0)
			row share: 40% of your budget; 60% is left, enough for 1 such
			row margin: ±0 (95%)
			row epsilon: 50
			> ask SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> explain SELECT count(*) FROM patients WHERE age > 40
			describe
			check
			row Private answer  (cost=0.00..0.00 rows=1 width=0)
			row it would be refused: this would take 40% of your budget, of which 20% is left
			row instead: dpproxy.epsilon = 25 still fits, with a margin of ±0 for count(*).
			row margin: ±0 (95%)
			row epsilon: 50
			> left
			left 25`},
		{"EXPLAIN meets the ledger", `
			> fault answer disk
			> explain SELECT count(*) FROM patients
			describe
			check
			ERROR 58030 the budget ledger is unavailable`},
		{"the same question again is free", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
			> left
			left 75
			> metrics
			cached 1
			private 1
			charged 50`},
		{"it is free for its analyst alone", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> as bob
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"another ε, another TimeZone or another constant is another question", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> set dpproxy.epsilon 20
			> ask SELECT count(*) FROM patients
			check
			spend 20
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 16% of your budget spent, 44% left, enough for 2 like this
			> set timezone Europe/Paris
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 20
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 16% of your budget spent, 28% left, enough for 1 like this
			> left
			left 35`},
		{"the ledger cannot say whether an answer is kept", `
			> fault answer disk
			> ask SELECT count(*) FROM patients
			describe
			ERROR 58030 the budget ledger is unavailable
			> left
			left 125`},
		{"an answer that cannot be kept is given all the same, and paid again", `
			> fault keep disk
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"the ledger does not take the charge", `
			> fault spend disk
			> ask SELECT count(*) FROM patients
			describe
			check
			ERROR 58030 the budget ledger is unavailable
			> left
			left 125
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"main refuses the measure query: nothing is charged", `
			> fault check refused
			> ask SELECT count(*) FROM patients
			describe
			check
			ERROR 0A000 the main database does not take this form of the query
			> left
			left 125`},
		{"a domain has values that main holds equal: nothing is charged", `
			> fault check equal
			> ask SELECT count(*) FROM patients
			describe
			check
			ERROR 0A000 the database compares as equal some of the listed values, which have to differ
			> left
			left 125`},
		{"main has changed: its catalogs are read again, and the statement is planned anew", `
			> fault check unproven
			> ask SELECT count(*) FROM patients
			describe
			check
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"main has changed and stays so: nothing is charged", `
			> fault check unproven
			> fault check unproven
			> ask SELECT count(*) FROM patients
			describe
			check
			describe
			check
			ERROR 0A000 a table of the main database has changed and cannot be used as it was
			> left
			left 125`},
		{"main has changed and its catalogs cannot be read", `
			> fault check unproven
			> fault schema gone
			> fault check unproven
			> ask SELECT count(*) FROM patients
			describe
			check
			check
			ERROR 0A000 a table of the main database has changed and cannot be used as it was
			> left
			left 125`},
		{"main does not answer the check", `
			> fault check busy
			> ask SELECT count(*) FROM patients
			describe
			check
			ERROR 53300 no connection became free
			> left
			left 125`},
		{"the finish query is not taken: nothing is charged", `
			> fault finish syntax
			> ask SELECT count(*) FROM patients
			describe
			ERROR 0A000 this form of the query cannot be finished over released values
			> left
			left 125`},
		{"the shadow has no connection to check the finish query: the client gets the reason", `
			> fault finish busy
			> ask SELECT count(*) FROM patients
			describe
			ERROR 53300 no connection became free
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this`},
		{"the shadow is lost while it checks the finish query", `
			> fault finish unreachable
			> ask SELECT count(*) FROM patients
			describe
			ERROR 57P03 dpproxy cannot reach the shadow database at the moment
			> fault finish gone
			> ask SELECT count(*) FROM patients
			internal: connection reset by peer
			> left
			left 125`},
		{"a cancel ends the check of the finish query", `
			> fault finish cancelled
			> ask SELECT count(*) FROM patients
			describe
			ERROR 57014 canceling statement due to user request
			> left
			left 125`},
		{"main is lost once: it is asked again under one charge", `
			> fault measure lost
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"a standby ends it three times: it is asked again under one charge", `
			> fault measure lost
			> fault measure lost
			> fault measure lost
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			measure
			measure
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"main is lost twice: the charge stays, and no failure is counted", `
			> fault measure broken
			> fault measure broken
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			measure
			ERROR XX000 the main database failed while measuring
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"main fails: the charge stays, and the statement is refused from now on", `
			> fault measure error
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			fail
			ERROR XX000 the main database failed while measuring
			> left
			left 75
			> ask SELECT count(*) FROM patients
			check
			ERROR 55000 this statement failed on the database before and is refused until an administrator clears it
			> ask SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"a lost main that then fails is a failure", `
			> fault measure lost
			> fault measure error
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			measure
			fail
			ERROR XX000 the main database failed while measuring`},
		{"main is busy: no failure is counted", `
			> fault measure busy
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			ERROR 53300 no connection became free
			> left
			left 75
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"a proof fails in the measure: no failure is counted, and the catalogs are read again", `
			> fault measure unproven
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			ERROR XX000 the main database failed while measuring
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"a failure that cannot be recorded shows as the ledger's own", `
			> fault measure error
			> fault fail disk
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			ERROR 58030 the budget ledger is unavailable
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"an answer is held back when the failures are used up", `
			> fault releasable used up
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			ERROR 55000 failures are used up
			> left
			left 75`},
		{"cancelled before the charge", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> cancel
			> charge a
			ERROR 57014 canceling statement due to user request
			> run a
			ERROR 57014 canceling statement due to user request
			> left
			left 125`},
		{"cancelled between charge and measure: the charge stays, and nothing is counted", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> cancel
			> run a
			ERROR 57014 canceling statement due to user request
			> left
			left 75`},
		{"cancelled while main measures", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> cancel at measure
			> run a
			measure
			ERROR 57014 canceling statement due to user request
			> left
			left 75
			> uncancel
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"cancelled while the shadow finishes: the answer is kept", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> cancel at run
			> run a
			measure
			keep
			run on shadow
			close
			ERROR 57014 canceling statement due to user request
			> uncancel
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
			> left
			left 75`},
		{"the shadow fails at finish: the answer is kept", `
			> fault run gone
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			internal: connection reset by peer
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
			> left
			left 75`},
		{"the shadow fails among the rows: the answer is kept", `
			> fault row gone
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			internal: connection reset by peer
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
			> left
			left 75`},
		{"a client that goes away while rows stream gives the connection back", `
			> bind a SELECT ward FROM wards
			describe
			> charge a
			> leave a
			run on public
			close
			> bind b SELECT ward FROM wards
			> charge b
			> run b
			run on public
			row
			SELECT 1
			close
			> left
			left 125`},
		{"the public connection fails", `
			> fault run gone
			> ask SELECT ward FROM wards
			describe
			run on public
			internal: connection reset by peer
			> fault row gone
			> ask SELECT ward FROM wards
			run on public
			internal: connection reset by peer
			close
			> left
			left 125`},
		{"a cancel that comes while a failure is recorded leaves it recorded", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> fault measure error
			> cancel at fail
			> run a
			measure
			fail
			ERROR XX000 the main database failed while measuring
			> left
			left 75
			> uncancel
			> ask SELECT count(*) FROM patients
			check
			ERROR 55000 this statement failed on the database before and is refused until an administrator clears it`},
		{"a cancel that comes when the answer may go: it is kept, and the client gets the cancel", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> cancel at releasable
			> run a
			measure
			keep
			ERROR 57014 canceling statement due to user request
			> uncancel
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
			> left
			left 75`},
		{"a charge that its message did not use is void: nobody waits for its answer", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> charge a
			spend 50
			> run a
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> left
			left 25`},
		{"a voided question does not hold up the same question", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> void a
			> bind b SELECT count(*) FROM patients
			check
			> charge b
			spend 50
			> run b
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> charge a
			> run a
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 20% left
			> left
			left 25`},
		{"a reload between Bind and Charge", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> reload
			> charge a
			ERROR 0A000 cached plan must not change result type
			> left
			left 125`},
		{"a reload between Charge and Execute", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> bind b SELECT ward FROM wards
			describe
			> charge a
			spend 50
			> charge b
			> drained
			drained false
			> reload without alice
			> run a
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> drained
			drained false
			> run b
			run on public
			row
			SELECT 1
			close
			> drained
			drained true`},
		{"a charge that fails, a void and an error leave the policy", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> fault spend disk
			> charge a
			ERROR 58030 the budget ledger is unavailable
			> drained
			drained true
			> bind b SELECT count(*) FROM patients
			check
			> charge b
			spend 50
			> void b
			> drained
			drained true
			> fault measure error
			> ask SELECT count(*) FROM patients WHERE age > 7
			describe
			check
			spend 50
			measure
			fail
			ERROR XX000 the main database failed while measuring
			> drained
			drained true`},
		{"a reload that removes the analyst", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> prepare p SELECT count(*) FROM patients
			> reload without alice
			> charge a
			FATAL 28000 analyst is no longer in the policy
			> bind p
			FATAL 28000 analyst is no longer in the policy`},
		{"a prepared statement outlives a reload", `
			> prepare p SELECT count(*) FROM patients WHERE age > 30
			describe
			> reload
			> bind p
			describe
			check
			> charge p
			spend 50
			> run p
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"a prepared statement whose types have changed is refused", `
			> prepare p SELECT count(*) FROM patients WHERE age > 30
			describe
			> types
			> reload
			> types
			> bind p
			describe
			ERROR 0A000 cached plan must not change result type
			> left
			left 125`},
		{"a parameter's value is part of the question", `
			> prepare p SELECT count(*) FROM patients WHERE age > $1
			describe
			> bind p 30
			check
			> charge p
			spend 50
			> run p
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> bind p 31
			check
			> charge p
			spend 50
			> run p
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> bind p 30
			> charge p
			> run p
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 20% left
			> left
			left 25`},
		{"a value that the shadow cannot read", `
			> prepare p SELECT count(*) FROM patients WHERE age > $1
			describe
			> fault read unreadable
			> bind p abc
			ERROR 22P02 invalid input syntax
			> left
			left 125
			> metrics
			refused 1
			charged 0`},
		{"no NOTICE without asking for it", `
			> set dpproxy.notices off
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			> ask SELECT count(*) FROM patients
			run on shadow
			close
			row {41}
			SELECT 1`},
		{"the balance of a free statement cannot be read", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> fault balance disk
			> ask SELECT count(*) FROM patients
			ERROR 58030 the budget ledger is unavailable`},
		{"a margin chooses the ε", `
			> set dpproxy.margin 1
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 1.766
			> set dpproxy.margin 0.1%
			> bind b SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			> charge b
			spend 0.02981
			> set dpproxy.margin 1e-300%
			> bind c SELECT count(*) FROM patients WHERE age > 30
			check
			> set dpproxy.margin x
			> bind c SELECT count(*) FROM patients WHERE age > 30
			ERROR 22023 invalid value for parameter "dpproxy.margin": "x"
			> left
			left 123.204`},
		{"another analyst's failures are not mine", `
			> fault measure error
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			fail
			ERROR XX000 the main database failed while measuring
			> as bob
			> ask SELECT count(*) FROM patients
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> left
			left 75`},
		{"a finish query of other types than the client knows", `
			> shift
			> ask SELECT count(*) FROM patients
			describe
			ERROR 0A000 this form of the query cannot be finished over released values
			> left
			left 125`},
		{"dpproxy.columns lists what the policy lets analysts use", `
			> ask SELECT table_name, column_name, type, lower, upper, domain, uses FROM dpproxy.columns
			describe
			run on shadow
			row {patients,patients,patients,wards} | {id,age,ward,ward} | {integer,integer,text,text} | {NULL,0,NULL,NULL} | {NULL,120,NULL,NULL} | {NULL,NULL,"\"north\", \"south\"",NULL} | {"count(DISTINCT), join, group by inside a subquery","filter, aggregate, group by","filter, count, group by",anything}
			SELECT 1
			close`},
		{"settings of the session in a query", `
			> ask SELECT current_setting('TimeZone'), name FROM pg_settings
			describe
			run on shadow
			row UTC | 50 |  |  | drop |  | off
			SELECT 1
			close`},
		{"intervals of released values", `
			> ask SELECT count(*), dpproxy.interval_low(count(*)), dpproxy.interval_high(count(*)) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41} | {0} | {0}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this`},
		{"a median is measured as a histogram", `
			> bind a SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM patients
			describe
			check
			> charge a
			spend 50
			> left
			left 75`},
		{"EXPLAIN in JSON, and EXPLAIN ANALYZE", `
			> bind a EXPLAIN (FORMAT JSON) SELECT count(*) FROM patients
			describe
			check
			> charge a
			> bind b EXPLAIN ANALYZE SELECT count(*) FROM patients
			describe
			ERROR 0A000 EXPLAIN ANALYZE would run the query
			> left
			left 125`},
		{"set_config inside a query", `
			> ask SELECT set_config('x.y', 'z', false) FROM wards
			describe
			ERROR 42704 unrecognized configuration parameter "x.y"`},
		{"dpproxy.budget is read from the ledger at Bind", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT epsilon_spent, epsilon_left FROM dpproxy.budget
			describe
			run on shadow
			row {alice} | {125} | {50} | {75} | {0} | {NULL} | {0.4} | {0.6}
			SELECT 1
			close
			> ask SELECT query FROM dpproxy.history
			describe
			run on shadow
			row {"NOW"} | {"SELECT count(*) FROM patients"} | {50} | {0.4}
			SELECT 1
			close
			> fault balance disk
			> ask SELECT epsilon_left FROM dpproxy.budget
			describe
			ERROR 58030 the budget ledger is unavailable`},
	} {
		t.Run(c.name, func(t *testing.T) { newWorld(t).run(t, c.transcript) })
	}
}
