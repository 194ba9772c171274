// Package demo is `dpproxy demo`: a PostgreSQL server of its own, a clinic's data, a policy, and the proxy in front of
// it, all in a temporary folder that goes when the demo ends. Nothing has to be installed or configured first.
//
// The data are made, not real (data.go, people.go): the same on every machine and in every run, so that tests and the
// documentation can speak of them. Load puts them into any database; the tests of the whole program use it too.
package demo
