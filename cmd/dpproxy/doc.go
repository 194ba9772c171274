// Dpproxy is a differential-privacy firewall for PostgreSQL: it speaks PostgreSQL's protocol to analysts and answers
// with calibrated noise, within a budget. docs/commands.md describes the commands, docs/policy.md the policy file.
//
// This package holds flags and wiring only, one file per command. Results go to standard output, everything else to
// standard error. Exit codes: 0 done; 1 a check failed, a statement was refused, a database could not be reached; 2 the
// policy or the command line is wrong.
package main
