package relation

// PlanNode is one line of a plan, as EXPLAIN shows it, and the nodes that it reads.
type PlanNode struct {
	text   string
	inputs []PlanNode
}

func NewPlanNode(text string, inputs ...PlanNode) PlanNode { return PlanNode{text, inputs} }

// Lines prints a plan, indented below its reader.
func (n PlanNode) Lines(indent string) []string {
	out := []string{indent + n.text}
	for _, i := range n.inputs {
		out = append(out, i.Lines(indent+"  ")...)
	}
	return out
}
