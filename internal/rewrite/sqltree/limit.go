package sqltree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// DropLimits takes LIMIT ALL and OFFSET 0, which choose nothing, out of a query and all queries in it.
func DropLimits(s *pg_query.SelectStmt) { dropLimits(s.ProtoReflect()) }

func dropLimits(m protoreflect.Message) {
	if s, ok := m.Interface().(*pg_query.SelectStmt); ok && s != nil {
		if s.LimitOption == pg_query.LimitOption_LIMIT_OPTION_COUNT && isNull(s.LimitCount) {
			s.LimitCount = nil
		}
		if n := s.LimitOffset.GetAConst(); isNull(s.LimitOffset) || n.GetIval() != nil && n.GetIval().Ival == 0 {
			s.LimitOffset = nil
		}
		if s.LimitCount == nil && s.LimitOffset == nil {
			s.LimitOption = pg_query.LimitOption_LIMIT_OPTION_DEFAULT
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				dropLimits(v.List().Get(i).Message())
			}
		default:
			dropLimits(v.Message())
		}
		return true
	})
}

func isNull(n *pg_query.Node) bool { return n.GetAConst().GetIsnull() }
