package relation

// step is one line of a plan, as EXPLAIN shows it, and the steps that it reads.
type step struct {
	text   string
	inputs []step
}

func Planned(text string, inputs ...step) step { return step{text, inputs} }

// Lines prints a plan, indented below its reader.
func (s step) Lines(indent string) []string {
	out := []string{indent + s.text}
	for _, i := range s.inputs {
		out = append(out, i.Lines(indent+"  ")...)
	}
	return out
}
