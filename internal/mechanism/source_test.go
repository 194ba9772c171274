package mechanism

import (
	"encoding/binary"
	"math/rand/v2"
)

// seededSource makes a Source that draws the same words in every run. Tests of distributions use it, so that their
// outcome does not change from run to run.
func seededSource(seed uint64) *Source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	chacha := rand.NewChaCha8(key)
	return &Source{fill: func(p []byte) { _, _ = chacha.Read(p) }}
}
