package rewritetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// bookings have ranges of every kind: empty ones, such as begin or end nowhere or at infinity, and such as are far
// beyond the bounds of the policy. A stream of its own leaves the other tables as they are.
func (h *hostile) bookings(number int) {
	h.random = rand.New(rand.NewPCG(uint64(number), 7))
	past, never := []string{"-infinity", "4713-01-01 BC"}, []string{"infinity"}
	booking := 0
	for _, id := range Units {
		h.ordinary = h.random.IntN(2) == 0
		for range h.choose(0, 1, 2, 4, 12) {
			booking++
			h.insert("bookings", booking, h.unit(id), h.ward(),
				h.extent("daterange", past, []string{"2020-01-01", "2020-03-08", "2020-11-01", "2021-02-12", "2021-12-31"}, never,
					true),
				h.extent("tstzrange", past, []string{
					"2020-01-01 00:00Z", "2020-03-08 07:00Z", "2020-11-01 05:30Z",
					"2021-06-15 18:30Z", "2022-01-01 00:00Z",
				}, never, true),
				h.extent("tsrange", past, []string{
					"2020-01-01", "2020-03-08 02:30", "2020-11-01 01:30",
					"2021-12-31 23:59:59.999999",
				}, never, false),
				h.extent("int4range", []string{"-2147483648"}, []string{"0", "1", "7", "30", "50"}, []string{"51", "2147483647"},
					false),
				h.extent("numrange", []string{"-1e300", "-0.5"}, []string{"0", "0.1", "5.00", "19.99", "20"},
					[]string{"1e300", "NaN"}, true),
				h.extent("int8range", []string{"-9223372036854775808"}, []string{"0", "9007199254740992", "9007199254740993"},
					[]string{"9223372036854775807"}, true),
				h.pick("NULL", "'{}'", "'{[2020-01-01,2020-02-01),[2020-03-01,2020-03-09)}'"))
		}
	}
}

// extent is a range of a type. Its ends are values of three lists, which are in order.
func (h *hostile) extent(typ string, before, near, after []string, null bool) string {
	values, odd := near, !h.ordinary || h.random.IntN(8) == 0
	if odd {
		switch form := h.pick("NULL", "'empty'", "'(,)'", "", "", ""); {
		case form == "NULL" && null, form != "NULL" && form != "":
			return form
		}
		values = slices.Concat(before, near, after)
	}
	i, j := h.random.IntN(len(values)), h.random.IntN(len(values))
	i, j = min(i, j), max(i, j)
	ends := h.pick("[)", "[)", "()", "[]")
	if i == len(values)-1 || ends == "[]" && j == len(values)-1 { // one more may be no value of the type
		ends = "[)"
	}
	bound := func(text string) string {
		if odd && h.random.IntN(6) == 0 {
			return "NULL"
		}
		return "'" + text + "'"
	}
	return fmt.Sprintf("%s(%s, %s, '%s')", typ, bound(values[i]), bound(values[j]), ends)
}
