// Package command recognises the statements that a session answers without a database: transactions, settings,
// prepared statements, cursors, notifications; and those that dpproxy runs for nobody. It turns parse trees into plain
// data and decides nothing else.
package command
