package release

// LeftOut says what an answer leaves out: a unit counts with at most so many rows, 0 if that is all that it may have, and this share of rows
// and sums is beyond what the policy lets a unit add (max_rows_per_unit, per_unit), as the administrator vouches; nil if nobody knows.
func (k *Block) LeftOut() (rows int64, share *float64) {
	none := 0.0
	if k.Source.Proven && !k.clamped {
		return 0, &none
	}
	if !k.Source.Proven {
		rows = k.Source.MaxRowsPerUnit
	}
	kept := 1.0
	for _, t := range k.Source.Tables {
		if t.Public || t.MaxRowsPerUnit == 1 && rows > 1 {
			continue // the rows beyond the bound are another table's
		}
		if t.LeftOut == nil {
			return rows, nil
		}
		kept *= 1 - *t.LeftOut
	}
	share = new(float64)
	*share = 1 - kept
	return rows, share
}
