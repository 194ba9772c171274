package ledger

// refusals are the refused fingerprints of all analysts, each with the number of the latest record of its failure.
type refusals map[string]map[string]uint64

// add takes in a record of kindFail.
func (f refusals) add(r *record) {
	if f[r.analyst] == nil {
		f[r.analyst] = make(map[string]uint64)
	}
	f[r.analyst][r.fingerprint] = r.n
}

// refuses says whether a fingerprint has failed since the record with the number cleared.
func (f refusals) refuses(analyst, fingerprint string, cleared uint64) bool {
	return f[analyst][fingerprint] > cleared
}

// count returns how many fingerprints are refused to an analyst.
func (f refusals) count(analyst string, cleared uint64) int {
	count := 0
	for _, n := range f[analyst] {
		if n > cleared {
			count++
		}
	}
	return count
}
