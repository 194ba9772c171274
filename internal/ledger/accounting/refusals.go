package accounting

// Refusals are the refused fingerprints of all analysts, each with the number of the latest record of its failure.
type Refusals map[string]map[string]uint64

// Add takes in a record of kindFail.
func (f Refusals) Add(r *Record) {
	if f[r.Analyst] == nil {
		f[r.Analyst] = make(map[string]uint64)
	}
	f[r.Analyst][r.Fingerprint] = r.Number
}

// Refuses says whether a fingerprint has failed since the record with the number cleared.
func (f Refusals) Refuses(analyst, fingerprint string, cleared uint64) bool {
	return f[analyst][fingerprint] > cleared
}

// Count returns how many fingerprints are refused to an analyst.
func (f Refusals) Count(analyst string, cleared uint64) int {
	count := 0
	for _, n := range f[analyst] {
		if n > cleared {
			count++
		}
	}
	return count
}
