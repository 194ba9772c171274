package bolt

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// keysGrow is how full the pages of a bucket become whose keys only grow.
const keysGrow = 1

// putCurve stores a curve, unless it is there. Curves are numbered so that they fill their pages, whatever their names.
func putCurve(tx *bbolt.Tx, id accounting.CurveID, curve []byte) error {
	curves, ids := tx.Bucket(bucketCurves), tx.Bucket(bucketCurveIDs)
	if number := ids.Get(id[:]); number != nil {
		if !bytes.Equal(curves.Get(number), curve) {
			return fmt.Errorf("curve %x is stored with other bytes", id)
		}
		return nil
	}
	n, err := curves.NextSequence()
	if err != nil {
		return err
	}
	curves.FillPercent = keysGrow
	if err := curves.Put(recordKey(n), curve); err != nil {
		return err
	}
	return ids.Put(id[:], recordKey(n))
}

// curvesOf finds curves in a transaction.
func curvesOf(tx *bbolt.Tx) accounting.Curves {
	curves, ids := tx.Bucket(bucketCurves), tx.Bucket(bucketCurveIDs)
	return func(id accounting.CurveID) ([]byte, error) {
		if number := ids.Get(id[:]); number != nil {
			if curve := curves.Get(number); curve != nil {
				return curve, nil
			}
		}
		return nil, fmt.Errorf("curve %x is missing", id)
	}
}
