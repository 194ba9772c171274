// Package clients holds what real clients send to a database when they connect and when they look around: one folder
// for each client, one file for each thing that it does. Its test sends all of it to a running dpproxy.
//
// A statement ends with a line that is a semicolon; lines "-- $1 = 'x'" in front of it are the values of its
// parameters, and "-- $1 int2 = '3'" of one that the client gives a type. "-- prepared" says that the client names the
// statement. What users ask through these clients is in questions.txt of their folders: "-- answered", "-- refused
// CODE: words" with "-- instead: a form that is answered", or "-- missing: what has to be there", which the test holds
// against what happens. The first line of a file says what recorded it, or that it is modelled: written after the
// client's source code. The program record writes down what a client sends.
//
// {class:patients} and {type:severity} are replaced by OIDs.
package clients
