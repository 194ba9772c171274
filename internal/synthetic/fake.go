package synthetic

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Words that values are made up of.
var (
	given = strings.Fields(`Ada Ben Carla David Elif Felix Grace Hugo Ines Jonas Kofi Lina Marco Nora Omar Pia Rosa Theo
		Uma Yuki`)
	family = strings.Fields(`Andersen Brown Costa Dubois Fischer Garcia Hansen Ivanov Kim Kumar Lopez Martin Novak Okafor
		Patel Rossi Sato Silva Tran Weber`)
	places = strings.Fields(`Ashford Brookfield Clearwater Dunmore Eastham Fairview Glenwood Hillcrest Kingsley Lakeside
		Milton Northgate Oakdale Riverton Sunnyside`)
	things = strings.Fields(`amber birch cedar delta ember fern grove harbor iris juniper kestrel lumen maple nectar opal
		pebble quartz river sable tundra`)
)

// texts make up a text by words of a column's name; the first that fits does.
var texts = []struct {
	words string
	make  func(*rand.Rand) string
}{
	{"mail", func(r *rand.Rand) string {
		return strings.ToLower(pick(r, given)+"."+pick(r, family)) + fmt.Sprintf("%d@example.org", r.IntN(1000))
	}},
	{"phone tel mobile fax", func(r *rand.Rand) string {
		return fmt.Sprintf("+1 555 01%02d %04d", r.IntN(100), r.IntN(10000))
	}},
	{"first given", func(r *rand.Rand) string { return pick(r, given) }},
	{"last family surname", func(r *rand.Rand) string { return pick(r, family) }},
	{"street address", func(r *rand.Rand) string { return fmt.Sprintf("%d %s Road", 1+r.IntN(200), pick(r, places)) }},
	{"zip post", func(r *rand.Rand) string { return fmt.Sprintf("%05d", r.IntN(100000)) }},
	{"city town place", func(r *rand.Rand) string { return pick(r, places) }},
	{"url website link", func(r *rand.Rand) string { return "https://www.example.org/" + pick(r, things) }},
	{"company organi", func(r *rand.Rand) string { return pick(r, family) + " Ltd" }},
	{"name", func(r *rand.Rand) string { return pick(r, given) + " " + pick(r, family) }},
	{"", func(r *rand.Rand) string { return pick(r, things) + " " + pick(r, things) }},
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// constants are values of types that none is made up of.
var constants = map[uint32]string{
	pgtype.JSONOID: "{}", pgtype.JSONBOID: "{}", pgtype.ByteaOID: `\x`, pgtype.InetOID: "192.0.2.1",
	pgtype.CIDROID: "192.0.2.0/24", pgtype.MacaddrOID: "02:00:00:00:00:00", pgtype.XMLOID: "<x/>", pgtype.IntervalOID: "0", pgtype.DateOID: "2000-01-01",
	pgtype.TimestampOID: "2000-01-01 00:00:00", pgtype.TimestamptzOID: "2000-01-01 00:00:00+00", pgtype.TimeOID: "00:00:00",
	pgtype.TimetzOID: "00:00:00+00", pgtype.PointOID: "(0,0)", pgtype.BitOID: "0", pgtype.VarbitOID: "0",
	pgtype.Int2OID: "0", pgtype.Int4OID: "0", pgtype.Int8OID: "0", pgtype.NumericOID: "0", pgtype.Float4OID: "0",
	pgtype.Float8OID: "0", 790: "0", // money
}

// madeUp makes values of a column of which nothing is known but its type and name.
func (d *drawn) madeUp(s *rewrite.Schema, c *rewrite.RelationColumn, null func(row int) bool) (writer, error) {
	text, err := d.unknown(s, c)
	if err != nil && !c.NotNull { // no value of the type is known: it has none
		return func(int) []byte { return nil }, nil
	}
	return func(row int) []byte {
		if null != nil && null(row) {
			return nil
		}
		return []byte(text())
	}, err
}

func (d *drawn) unknown(s *rewrite.Schema, c *rewrite.RelationColumn) (func() string, error) {
	base := s.BaseType(c.Type)
	if constant, ok := constants[base]; ok {
		return func() string { return constant }, nil
	}
	switch {
	case base == pgtype.UUIDOID:
		return func() string {
			return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", d.random.Uint32(), d.random.IntN(1<<16), d.random.IntN(1<<12),
				d.random.IntN(1<<12), d.random.Int64N(1<<48))
		}, nil
	case strings.HasSuffix(c.TypeName, "[]"):
		return func() string { return "{}" }, nil
	case strings.HasSuffix(c.TypeName, "range"):
		return func() string { return "empty" }, nil
	case base != pgtype.TextOID && base != pgtype.VarcharOID && base != pgtype.BPCharOID && c.TypeName != "citext":
		return nil, fmt.Errorf("no value of type %s can be made up", c.TypeName)
	}
	most, name := int(c.Typmod)-4, strings.ToLower(c.Name)
	for _, t := range texts {
		for _, word := range append(strings.Fields(t.words), "")[:max(1, len(strings.Fields(t.words)))] {
			if strings.Contains(name, word) {
				return func() string {
					made := t.make(d.random)
					if most > 0 && len(made) > most {
						made = strings.TrimSpace(made[:most])
					}
					return made
				}, nil
			}
		}
	}
	return nil, nil // not reached: every name has the empty word
}
