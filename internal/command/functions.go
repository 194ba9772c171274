package command

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// sessionFunctions are the calls that a session answers, with the numbers of arguments that they take. Locks protect
// nothing here, so only the calls that release them (drivers' resets) are answered.
var sessionFunctions = map[string][2]int{
	"set_config":                {3, 3},
	"current_setting":           {1, 2},
	"pg_advisory_unlock_all":    {0, 0},
	"pg_advisory_unlock":        {1, 2},
	"pg_advisory_unlock_shared": {1, 2},
}

// functions recognises a SELECT of nothing but session functions over constants and parameters. Only then the answer
// cannot depend on anything but the session.
func functions(s *pg_query.SelectStmt) (Command, bool) {
	if !targetsOnly(s) || len(s.TargetList) == 0 {
		return nil, false
	}
	var c Functions
	for _, t := range s.TargetList {
		target := t.GetResTarget()
		f := target.GetVal().GetFuncCall()
		call, ok := sessionCall(f)
		if !ok {
			return nil, false
		}
		if call.Column = target.Name; call.Column == "" {
			call.Column = call.Function
		}
		c.Calls = append(c.Calls, call)
	}
	return c, true
}

// targetsOnly reports that a SELECT has no clause but its target list.
func targetsOnly(s *pg_query.SelectStmt) bool {
	return s.Op == pg_query.SetOperation_SETOP_NONE && s.IntoClause == nil && s.WhereClause == nil &&
		s.HavingClause == nil &&
		s.WithClause == nil && s.LimitCount == nil && s.LimitOffset == nil && len(s.DistinctClause) == 0 &&
		len(s.FromClause) == 0 &&
		len(s.GroupClause) == 0 && len(s.WindowClause) == 0 && len(s.ValuesLists) == 0 && len(s.SortClause) == 0 &&
		len(s.LockingClause) == 0
}

func sessionCall(f *pg_query.FuncCall) (Call, bool) {
	names := f.GetFuncname()
	if f == nil || len(names) == 0 || len(names) > 2 || f.AggStar || f.AggDistinct || f.FuncVariadic ||
		f.AggFilter != nil || f.Over != nil || len(f.AggOrder) > 0 {
		return Call{}, false
	}
	if len(names) == 2 && names[0].GetString_().GetSval() != "pg_catalog" {
		return Call{}, false
	}
	call := Call{Function: names[len(names)-1].GetString_().GetSval()}
	count, known := sessionFunctions[call.Function]
	if !known || len(f.Args) < count[0] || len(f.Args) > count[1] {
		return Call{}, false
	}
	for _, a := range f.Args {
		arg, ok := argument(a)
		if !ok {
			return Call{}, false
		}
		call.Args = append(call.Args, arg)
	}
	return call, true
}

func argument(n *pg_query.Node) (Arg, bool) {
	if c := n.GetTypeCast(); c != nil {
		return argument(c.Arg)
	}
	if p := n.GetParamRef(); p != nil {
		return Arg{Parameter: int(p.Number)}, p.Number > 0
	}
	text, ok := constant(n)
	return Arg{Value: text}, ok
}
