// Package clientencoding converts text between UTF-8 and the client_encoding of a session.
//
// The proxy and all that is behind it speak UTF-8. A client that asks for another encoding gets its text converted at
// the wire, as PostgreSQL converts it: single-byte encodings have PostgreSQL's own tables byte by byte; of encodings of
// several bytes, a character whose bytes PostgreSQL would read as another one counts as not convertible.
package clientencoding
