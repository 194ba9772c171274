// Package pgserver runs a throw-away PostgreSQL server: for the demo and for tests.
//
// Start finds the server's programs, makes a cluster in a temporary folder, and returns once the server accepts
// connections on a Unix socket and on a free loopback port. Stop ends it and removes everything.
//
// Three promises:
//
//   - PostgreSQL refuses to run as root, so under root it runs as an unprivileged user, in a folder of that user's.
//   - No server outlives the process that started it, however that process ends: the kernel sends SIGQUIT to the
//     postmaster when its parent dies (Linux), and a small shell, the janitor, waits for the end of a pipe, stops the
//     server, and removes the folder. A postmaster that gets SIGQUIT gives its shared memory back.
//   - Data is unsafe by default: fsync is off, because nothing here has to survive a power failure.
package pgserver
