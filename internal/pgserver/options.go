package pgserver

import (
	"io"
	"sort"
	"strings"
)

// Superuser is the role that initdb makes.
const Superuser = "postgres"

// Options refine Start. The zero value is what tests want.
type Options struct {
	// Dir is the folder in which the cluster's own folder is made; empty: the system's temporary folder. A folder that
	// the server's user cannot reach, or whose socket path would be too long, is replaced by /tmp.
	Dir string
	// Port on 127.0.0.1; 0: a free one.
	Port int
	// Password of the superuser. Without one every local connection is trusted; with one, connections by TCP need
	// SCRAM-SHA-256 and the Unix socket stays trusted.
	Password string
	// Durable turns fsync on: for measuring, not for keeping.
	Durable bool
	// Programs is the folder of initdb and postgres; empty: what Find finds.
	Programs string
	// Settings are added to the server's command line, "name" → "value".
	Settings map[string]string
	// Log receives the server's log; nil: kept only for error messages.
	Log io.Writer
}

// arguments of the postmaster, in a fixed order.
func (o Options) arguments(data, sockets, port string) []string {
	settings := map[string]string{
		"listen_addresses":           "127.0.0.1",
		"unix_socket_directories":    sockets,
		"port":                       port,
		"logging_collector":          "off",
		"log_destination":            "stderr",
		"lc_messages":                "C", // readiness is read from the log
		"password_encryption":        "scram-sha-256",
		"max_connections":            "200",
		"max_wal_senders":            "0",
		"wal_level":                  "minimal", // COPY into a new table writes no log
		"max_wal_size":               "4GB",
		"shared_memory_type":         "mmap", // anonymous: dies with the server
		"dynamic_shared_memory_type": "mmap", // files in the data folder, not in /dev/shm
	}
	if !o.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		settings["synchronous_commit"] = "off"
	}
	for name, value := range o.Settings {
		settings[name] = value
	}
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	sort.Strings(names)
	args := []string{"-D", data}
	for _, name := range names {
		args = append(args, "-c", strings.ToLower(name)+"="+settings[name])
	}
	return args
}
