// Package session is one client's session: named statements, portals, cursors, transactions and settings. It answers
// the statements that change nothing but the session, and hands every other one to an Engine.
//
// A simple-query text is decided as a whole. Every statement is first analysed on a copy of the session's state, with
// the SETs, BEGINs, PREPAREs and DECLAREs before it in force; one refusal answers the text with one error, and nothing
// has run and nothing is charged. Otherwise the statements are charged and run one by one.
//
// A rolled-back transaction restores settings and cursors, never budget.
package session
