package ledger_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		share       float64
		spent, left string
	}{
		{0, "0%", "0%"},
		{1, "100%", "100%"},
		{.0206, "2.06%", "2%"},
		{.020833, "2.08%", "2%"},
		{.8349, "83.5%", "83%"},
		{1 - .3, "70%", "70%"},
		{1 - .02, "98%", "98%"},
		{.9999, "100%", "99%"},
		{.0999, "9.99%", "9.9%"},
		{.00049, "0.049%", "0.049%"},
		{.0000123456, "0.00123%", "0.0012%"},
		{.5, "50%", "50%"},
		{1e-9, "0.0000001%", "0.0000001%"},
		{1. / 3, "33.3%", "33%"},
	} {
		if spent, left := ledger.Percent(c.share), ledger.PercentLeft(c.share); spent != c.spent || left != c.left {
			t.Errorf("%g: %s spent and %s left, want %s and %s", c.share, spent, left, c.spent, c.left)
		}
	}
}
