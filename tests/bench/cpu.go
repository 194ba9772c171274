package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// clockTick is the unit of /proc's times: USER_HZ, which is 100 on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// postmaster asks for the process that all of the server's processes are children of.
func postmaster(ctx context.Context, conn *pgx.Conn) (pid string, err error) {
	err = conn.QueryRow(ctx, "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)").Scan(&pid)
	return pid, err
}

// serverCPU is the CPU time of the server so far: of the postmaster, its children, and those that have ended. 0 where
// the system does not say.
func serverCPU(postmaster string) time.Duration {
	ticks := 0
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0 // the pattern is a constant
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// proc(5): a name in parentheses, which may hold anything; then state, ppid, …, utime, stime, cutime, cstime as the
		// 14th to 17th field.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest)
		const ppid, utime = 1, 11
		switch postmaster {
		case filepath.Base(filepath.Dir(file)):
			ticks += sum(fields[utime : utime+4])
		case fields[ppid]:
			ticks += sum(fields[utime : utime+2])
		}
	}
	return time.Duration(ticks) * clockTick
}

func sum(numbers []string) (total int) {
	for _, text := range numbers {
		n, _ := strconv.Atoi(text) // the kernel prints numbers
		total += n
	}
	return total
}
