// Package console is the web application in which analysts ask and administrators look: HTML that is rendered here, and
// nothing that a page loads from elsewhere.
//
// It is a client of the wire. An analyst's login opens a connection to the wire server in the same process (pipe.go),
// and authenticates there with the password that was typed: verifiers, throttle, lockout, limits on connections,
// charges, refusals and timing are those of any PostgreSQL client, because it is one. That connection is the web
// session. It ends with it, and the password is forgotten as soon as it is open.
//
//	server.go guard.go       listener, time-outs; headers, host, origin and method of every request
//	sessions.go login.go     web sessions: made at login, ended by logout, silence or age
//	pipe.go client.go        the connection behind a web session; one statement from text to rows
//	pages.go assets.go       addresses, and what pages load. web/ has what is bundled into assets/
//	ask.go dryrun.go         Ask: what a question would cost, and its answer
//	parameters.go            :names of a question, and $1 in their place
//	accuracy.go              how far each column of an answer may be off
//	data.go                  an answer for the script that sorts and draws it
//	density.go chart.go      figures, drawn as SVG
//	build.go                 a question of a table's columns, without SQL
//	columns.go budget.go     what may be asked, what is left, what was asked
//	notebook.go              questions that are saved under a name, and shared
//	statements.go            a question of several statements, and a dashboard: one of saved questions
//	dba.go samples.go        the administrator's pages: accounts, counters, pools, policy. They run no SQL
//
// docs/console.md has the security argument.
package console
