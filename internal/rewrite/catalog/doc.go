// Package catalog decides whether a statement that touches no private relation may run as the client wrote it, and
// where: on the shadow (catalog queries, statements without a table) or as public (public tables of the policy).
//
// It is a list of what is allowed, by resolved identity: kinds of parse nodes, relations, functions, operators, types.
// What is not on a list is refused, also when PostgreSQL gains it in a later version. Nothing here reads anything:
// Check takes a parse tree and gives back a text.
//
// The client must not notice the shadow, so Check edits the statement where it would:
//
//   - names are qualified, so that what was checked is what runs;
//   - pg_database, the roles and the relations of information_schema become subqueries that show the database and user
//     that the client connected as, and no other;
//   - relations about the cluster or about statistics become subqueries of the same shape without rows, or with zeros;
//   - current_database(), current_user and their kin, sizes, advisory locks become constants of the same type and name;
//   - dpproxy.budget and the other relations of that schema become unnest() of parameters that the engine supplies.
//
// The parse tree is edited and printed (sqltree.Deparse). The print is parsed again and must equal the edited tree; if
// it does not, the statement is refused. A statement in which nothing is edited runs as the client wrote it.
//
// ShadowSQL and RoleSQL are what setup runs in the shadow, so that the text also passes PostgreSQL's own check there
// and so that a hole in the lists above meets a role that can do nothing.
//
// CONTRIBUTING.md says where the lists are, and how a statement that a client sends is let through.
package catalog
