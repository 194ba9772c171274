package session

import "testing"

// TestSettings plays SET, SHOW, RESET and what is like them.
func TestSettings(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"SET, SHOW and RESET", `
			> Q SET application_name = 'x'
			C SET
			S application_name = x
			Z I
			> Q SHOW application_name
			T application_name:25
			D x
			C SHOW
			Z I
			> Q RESET application_name
			C RESET
			S application_name =
			Z I
			> Q SHOW APPLICATION_NAME
			T application_name:25
			D
			C SHOW
			Z I`},
		{"what is reported at startup is reported when it changes", `
			> Q SET DateStyle = 'SQL, DMY'
			C SET
			S DateStyle = SQL, DMY
			Z I
			> Q SET IntervalStyle = 'iso_8601'
			C SET
			S IntervalStyle = iso_8601
			Z I
			> Q SET TimeZone = 'Europe/Paris'
			check Europe/Paris
			C SET
			S TimeZone = Europe/Paris
			Z I
			> Q SET work_mem = '1MB'
			C SET
			Z I
			> Q RESET ALL
			C RESET
			S DateStyle = ISO, MDY
			S IntervalStyle = postgres
			S TimeZone = UTC
			Z I`},
		{"values that no setting takes", `
			> Q SET DateStyle = 'nonsense'
			E 22023 invalid value for parameter "DateStyle": "nonsense"
			Z I
			> Q SET work_mem = '1'
			E 22023 1 kB is outside the valid range for parameter "work_mem" (64 .. 2147483647)
			Z I
			> Q SET client_min_messages = loud
			E 22023 invalid value for parameter "client_min_messages": "loud"
			Z I
			> Q SET jit = maybe
			E 22023 parameter "jit" requires a Boolean value
			Z I
			> Q SET standard_conforming_strings = off
			E 22023 invalid value for parameter "standard_conforming_strings": "off"
			Z I
			> Q SET server_version = 16
			E 55P02 parameter "server_version" cannot be changed
			Z I
			> Q SET nosuch = 1
			E 42704 unrecognized configuration parameter "nosuch"
			Z I
			> Q SHOW nosuch
			E 42704 unrecognized configuration parameter "nosuch"
			Z I
			> Q RESET nosuch
			E 42704 unrecognized configuration parameter "nosuch"
			Z I
			> Q RESET server_version
			E 55P02 parameter "server_version" cannot be changed
			Z I
			> Q SET seed = 2
			E 22023 2 is outside the valid range for parameter "seed" (-1 .. 1)
			Z I
			> Q SET statement_timeout = '1 parsec'
			E 22023 invalid value for parameter "statement_timeout": "1 parsec"
			Z I`},
		{"what a statement may cost", `
			> Q SHOW dpproxy.epsilon
			T dpproxy.epsilon:25
			D 0.5
			C SHOW
			Z I
			> Q SET dpproxy.epsilon = 0.2
			C SET
			Z I
			> Q SHOW dpproxy.epsilon
			T dpproxy.epsilon:25
			D 0.2
			C SHOW
			Z I
			> Q SET dpproxy.epsilon = 2
			E 22023 2 is outside the valid range for parameter "dpproxy.epsilon"
			Z I
			> Q SET dpproxy.epsilon = 0
			E 22023 0 is outside the valid range for parameter "dpproxy.epsilon"
			Z I
			> Q SET dpproxy.nosuch = 1
			E 42704 unrecognized configuration parameter "dpproxy.nosuch"
			Z I
			> Q RESET dpproxy.epsilon
			C RESET
			Z I
			> Q SHOW dpproxy.epsilon
			T dpproxy.epsilon:25
			D 0.5
			C SHOW
			Z I
			> Q SET dpproxy.margin = '2 %'
			C SET
			Z I
			> Q SHOW dpproxy.margin
			T dpproxy.margin:25
			D 2%
			C SHOW
			Z I
			> Q SET dpproxy.margin = '-1'
			E 22023 invalid value for parameter "dpproxy.margin": "-1"
			Z I`},
		{"custom settings", `
			> Q SET my.name = 'me'
			C SET
			Z I
			> Q SHOW my.name
			T my.name:25
			D me
			C SHOW
			Z I
			> Q RESET my.name
			C RESET
			Z I
			> Q SHOW my.other
			E 42704 unrecognized configuration parameter "my.other"
			Z I
			> Q SET my.name = DEFAULT
			C SET
			Z I`},
		{"nobody becomes anybody else", `
			> Q SET ROLE postgres
			E 42501 permission denied to set role "postgres"
			Z I
			> Q SET ROLE al
			C SET
			Z I
			> Q SET ROLE NONE
			C SET
			Z I
			> Q RESET ROLE
			C SET
			Z I
			> Q SET SESSION AUTHORIZATION postgres
			E 42501 permission denied to set session authorization "postgres"
			Z I
			> Q SET SESSION AUTHORIZATION DEFAULT
			C SET
			Z I`},
		{"encodings", `
			> Q SET client_encoding = 'utf-8'
			C SET
			Z I
			> Q SET NAMES 'UNICODE'
			C SET
			Z I
			> Q SET client_encoding = SQL_ASCII
			C SET
			S client_encoding = SQL_ASCII
			Z I
			> Q SET client_encoding = 'big5'
			E 22023 invalid value for parameter "client_encoding": "big5"
			Z I
			> Q SET client_encoding = 'latin1'
			C SET
			S client_encoding = LATIN1
			Z I`},
		{"DISCARD", `
			> Q SET application_name = 'x'; PREPARE p AS SELECT 1
			C SET
			C PREPARE
			S application_name = x
			Z I
			> Q DISCARD PLANS
			C DISCARD PLANS
			Z I
			> Q DISCARD ALL
			C DISCARD ALL
			S application_name =
			Z I
			> Q EXECUTE p
			E 26000 prepared statement "p" does not exist
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q DISCARD ALL
			E 25001 DISCARD ALL cannot run inside a transaction block
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q DISCARD ALL; SELECT 1
			E 25001 DISCARD ALL cannot run inside a transaction block
			Z I`},
		{"the levels of messages", `
			> Q SET client_min_messages = error
			C SET
			Z I
			> Q COMMIT
			C COMMIT
			Z I
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			C SELECT 1
			Z I
			> Q SET client_min_messages = notice; SET dpproxy.notices = off
			C SET
			C SET
			Z I
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			C SELECT 1
			Z I
			> Q COMMIT
			N WARNING there is no transaction in progress
			C COMMIT
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
