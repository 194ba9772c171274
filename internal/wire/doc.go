// Package wire speaks PostgreSQL's frontend/backend protocol, version 3.0, to clients. It knows bytes, messages,
// authentication and limits; what a statement means is a Session's business, which this package declares and does not
// implement. It imports nothing of dpproxy's.
//
// # Layers
//
//	server.go slots.go            accept, count, drain
//	startup.go packet.go tls.go   from the first byte to the first ReadyForQuery
//	auth.go scram.go throttle.go  who the client is
//	frame.go inbox.go reader.go   messages in: length-checked, bounded, read ahead of what takes long
//	loop.go                       from one message to the next
//	decode.go                     one message body, checked byte by byte, then decoded by pgproto3
//	dispatch.go extended.go       one method per message
//	writer.go errors.go           messages out: buffered; what an error may say
//	cancel.go                     CancelRequest
//
// # Life of a connection
//
//  1. The connection is counted, in total and by address, before a byte is read. Over a limit it gets an error after
//     its startup message, and not even that when too many wait for one (slots.go).
//  2. Packets are read byte-exactly up to the StartupMessage: SSLRequest (answered S, then a handshake, or N),
//     GSSENCRequest (N), or a TLS handshake at once (direct TLS, which needs ALPN). One deadline covers everything up
//     to the first ReadyForQuery.
//  3. Newer minor versions and _pq_ options are answered with NegotiateProtocolVersion: 3.0, none of them.
//  4. A client certificate that maps to an analyst settles the identity; else SCRAM-SHA-256, or -PLUS bound to the
//     server's certificate, or a password in cleartext that the authenticator proves (cleartext.go), over TLS alone.
//     Users that do not exist run the same exchange.
//  5. Handler.Open makes the session. ParameterStatus, BackendKeyData, notices, ReadyForQuery.
//  6. One goroutine reads messages and calls the session, in order. While a message takes long, another reads ahead
//     into the inbox, bounded in bytes, and cancels the connection's context when the client goes away (reader.go).
//  7. Replies are flushed by Sync, Flush, an error, or a full buffer. After an error in an extended message everything
//     up to Sync is skipped; there is one ReadyForQuery per Sync and per simple query, whatever happened.
//
// # Cancellation
//
// Every message runs under a context of its own. It ends when a CancelRequest with the right key comes while the
// message runs, when the client goes away, or when the server is closed; context.Cause says which, and the cause is
// what the client gets. Between messages there is nothing to cancel, so a late request never hits the next statement.
//
// # Trust
//
// Lengths are checked before memory is allocated: 10,000 bytes before authentication, Limits.Message after it.
// pgproto3/v2 panics on several short messages and accepts trailing bytes, so bodies are checked first (decode.go) and
// decoded under recover. An error that is not a *pgconn.PgError reaches the client as one fixed text.
//
// # Debugging
//
// testdata/script holds conversations, messages in and messages out. They run against this package with the real
// session, and against PostgreSQL itself:
//
//	go test ./internal/wire -run 'TestScripts$/portals' -v
//	go test ./internal/wire -run 'TestScriptsOnPostgreSQL/portals' -v
//
// model_test.go and twin_test.go make conversations up; a failure prints the one that failed, and its seed.
//
// -rewrite writes the answers into the file; blocks with only=dpproxy are the known differences.
package wire
