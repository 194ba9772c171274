# An application's session with Pgtcl: variables as parameters, a prepared statement, loops over rows, errors, transactions,
# single-row mode, a named cursor.
package require Pgtcl

proc must {ok what} {
	if {!$ok} { error "failed: $what" }
}

proc refused {conn sql code} {
	set r [pg_exec $conn $sql]
	must [string equal [pg_result $r -status] PGRES_FATAL_ERROR] "not refused: $sql"
	must [string equal [pg_result $r -error sqlstate] $code] "$sql: [pg_result $r -error sqlstate], not $code"
	pg_result $r -clear
}

proc rows {r} {
	must [string equal [pg_result $r -status] PGRES_TUPLES_OK] [pg_result $r -error]
	set list [pg_result $r -llist]
	pg_result $r -clear
	return $list
}

set conn [pg_connect -conninfo ""] ;# PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE
must [expr {[rows [pg_exec $conn "SELECT current_user, current_database()"]] eq [list [list $env(PGUSER) $env(PGDATABASE)]]}] "who"
must [expr {[pg_dbinfo param $conn client_encoding] in {UTF8 UNICODE}}] "encoding: [pg_dbinfo param $conn client_encoding]" ;# it asks for UNICODE, which is UTF8

# Parameters, as numbers and as the variables of the caller; the same question has the same answer.
set first [lindex [rows [pg_exec $conn {SELECT count(*) FROM patients WHERE age > $1 AND diagnosis = $2} 40 flu]] 0 0]
must [expr {$first >= 0 && $first <= 100000}] "count: $first"
set age 40
set diagnosis flu
pg_select -variables $conn {SELECT count(*) AS n FROM patients WHERE age > :age AND diagnosis = :diagnosis} row { set again $row(n) }
must [expr {$again == $first}] "again: $again, not $first"
must [string equal [pg_result [pg_exec $conn {PREPARE younger (int) AS SELECT count(*) FROM patients WHERE age < $1}] -status] PGRES_COMMAND_OK] "prepare"
foreach age {20 30} { must [expr {[lindex [rows [pg_exec_prepared $conn younger $age]] 0 0] >= 0}] "prepared" }

# Groups, and NULL as it arrives.
set seen {}
pg_select -withoutnulls $conn "SELECT diagnosis, avg(income) AS income, NULL AS nothing FROM patients GROUP BY 1 ORDER BY 1" row {
	lappend seen $row(diagnosis)
	must [expr {![info exists row(income)] || $row(income) >= 0 && $row(income) <= 100000}] "average"
	must [expr {![info exists row(nothing)]}] "NULL"
}
must [expr {$seen eq {asthma cold flu gout}}] "groups: $seen"

# An error inside a transaction, what comes after it, and the way out.
pg_result [pg_exec $conn BEGIN] -clear
refused $conn "SELECT name, income FROM patients" 42501
refused $conn "SELECT 1" 25P02
pg_result [pg_exec $conn ROLLBACK] -clear
foreach {sql code} {
	"SELECT nope FROM patients" 42703
	"SELEC 1" 42601
	"SELECT * FROM secrets" 42P01
	"COPY patients TO STDOUT" 42501
	"DELETE FROM wards" 42501
} { refused $conn $sql $code }

# Single rows, and a cursor over a release.
must [expr {[pg_sendquery $conn "SELECT ward, beds FROM wards ORDER BY ward"] eq ""}] "sendquery"
pg_set_single_row_mode $conn
set seen {}
while {[set r [pg_getresult $conn]] ne ""} {
	must [expr {[pg_result $r -status] in {PGRES_SINGLE_TUPLE PGRES_TUPLES_OK}}] "single row: [pg_result $r -error]"
	lappend seen {*}[pg_result $r -llist]
	pg_result $r -clear
}
must [expr {$seen eq {{A 30} {B 24} {C 18}}}] "single rows: $seen"
pg_result [pg_exec $conn BEGIN] -clear
pg_result [pg_exec $conn "DECLARE released CURSOR FOR SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 1"] -clear
set seen {}
while {[llength [set some [rows [pg_exec $conn "FETCH 3 FROM released"]]]]} { lappend seen {*}$some }
pg_result [pg_exec $conn COMMIT] -clear
must [expr {[lmap r $seen { lindex $r 0 }] eq {asthma cold flu gout}}] "cursor: $seen"

pg_disconnect $conn
puts ok
