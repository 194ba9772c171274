// Package sqltree reads and changes the client's statements as PostgreSQL's parser gives them: it parses within limits
// that no text can break, walks and copies trees, names what they contain, and prints a tree that was changed, proving
// that the print means the same (deparse.go). It knows SQL, and nothing of privacy.
package sqltree
