// Package refusal lists why dpproxy refuses a question that PostgreSQL would answer.
//
// Every reason has one SQLSTATE and one section of docs/refusals.md, which says what the reason protects and which form
// is answered instead. Reasons are divided by what an analyst does about them, not by where in the code they arise.
// Errors that are PostgreSQL's own, as of a name that does not exist, have no reason.
package refusal
