package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// places puts a node into an otherwise answered statement.
var places = map[string]func(s *pg_query.SelectStmt, n *pg_query.Node){
	"WHERE":              func(s *pg_query.SelectStmt, n *pg_query.Node) { s.WhereClause = n },
	"aggregate argument": func(s *pg_query.SelectStmt, n *pg_query.Node) { sum(s).Args[0] = n },
	"FILTER":             func(s *pg_query.SelectStmt, n *pg_query.Node) { sum(s).AggFilter = n },
	"FROM":               func(s *pg_query.SelectStmt, n *pg_query.Node) { s.FromClause[0] = n },
	"second FROM item":   func(s *pg_query.SelectStmt, n *pg_query.Node) { s.FromClause = append(s.FromClause, n) },
	"GROUP BY":           func(s *pg_query.SelectStmt, n *pg_query.Node) { s.GroupClause[0] = n },
	"target":             func(s *pg_query.SelectStmt, n *pg_query.Node) { s.TargetList[0].GetResTarget().Val = n },
	"target list":        func(s *pg_query.SelectStmt, n *pg_query.Node) { s.TargetList[0] = n },
	"HAVING":             func(s *pg_query.SelectStmt, n *pg_query.Node) { s.HavingClause = n },
	"ORDER BY":           func(s *pg_query.SelectStmt, n *pg_query.Node) { s.SortClause[0] = n },
	"sort key":           func(s *pg_query.SelectStmt, n *pg_query.Node) { s.SortClause[0].GetSortBy().Node = n },
	"LIMIT":              func(s *pg_query.SelectStmt, n *pg_query.Node) { s.LimitCount = n },
	"DISTINCT":           func(s *pg_query.SelectStmt, n *pg_query.Node) { s.DistinctClause = []*pg_query.Node{n} },
	"WINDOW":             func(s *pg_query.SelectStmt, n *pg_query.Node) { s.WindowClause = []*pg_query.Node{n} },
	"WITH": func(s *pg_query.SelectStmt, n *pg_query.Node) {
		s.WithClause = &pg_query.WithClause{Ctes: []*pg_query.Node{n}}
	},
	"locking": func(s *pg_query.SelectStmt, n *pg_query.Node) { s.LockingClause = []*pg_query.Node{n} },
}

func sum(s *pg_query.SelectStmt) *pg_query.FuncCall {
	return s.TargetList[1].GetResTarget().Val.GetFuncCall()
}

// TestEveryNodeType puts every node type of the grammar that the analysis does not list as known at every place of a
// private statement. Each must be refused as a client's error: never passed on, never a crash.
func TestEveryNodeType(t *testing.T) {
	statements, err := rewrite.Parse("SELECT ward, sum(age) FROM patients GROUP BY ward ORDER BY ward", 32768)
	if err != nil {
		t.Fatal(err)
	}
	fields := (&pg_query.Node{}).ProtoReflect().Descriptor().Fields()
	if fields.Len() < 250 {
		t.Fatalf("the grammar has %d node types only", fields.Len())
	}
	unknown := 0
	for i := range fields.Len() {
		field := fields.Get(i)
		if sqltree.KnownNodes[field.Name()] {
			continue
		}
		unknown++
		for place, put := range places {
			name := string(field.Name()) + " as " + place
			tree := clone(statements[0].Node)
			put(tree.GetSelectStmt(), emptyNode(field))
			q := &rewrite.Statement{SQL: statements[0].SQL, Node: tree}
			a, err := rewrite.Analyze(context.Background(), theWorld.schema, q, rewrite.Description{}, settings)
			if err == nil && a.Route == rewrite.RoutePrivate {
				_, err = a.Plan(context.Background(), nil, lookup{w: theWorld}, rewrite.Options{})
			}
			var pe *pgconn.PgError
			switch {
			case err == nil:
				t.Errorf("%s is answered", name)
			case err != nil && !errors.As(err, &pe):
				t.Errorf("%s: not a client's error: %v", name, err)
			case err != nil && pe.Code == "XX000":
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if unknown < 200 {
		t.Errorf("only %d node types are unknown", unknown)
	}
}

func emptyNode(field protoreflect.FieldDescriptor) *pg_query.Node {
	n := &pg_query.Node{}
	n.ProtoReflect().Set(field, n.ProtoReflect().NewField(field))
	return n
}

func clone(n *pg_query.Node) *pg_query.Node {
	c := &pg_query.Node{}
	proto.Merge(c, n)
	return c
}

// TestExpansionIsBounded holds statements that would expand exponentially to a refusal in little time.
func TestExpansionIsBounded(t *testing.T) {
	ctes := "WITH c0 AS (SELECT id, age FROM patients)"
	for i := range 40 {
		ctes += fmt.Sprintf(", c%d AS (SELECT a.id, a.age FROM c%d a JOIN c%d b ON a.id = b.id)", i+1, i, i)
	}
	nested := "SELECT patient_id FROM visits GROUP BY patient_id"
	for range 60 {
		nested = "SELECT patient_id FROM (" + nested + ") s GROUP BY patient_id"
	}
	for _, sql := range []string{ctes + " SELECT count(*) FROM c40", "SELECT count(*) FROM (" + nested + ") s"} {
		statements, err := rewrite.Parse(sql, 32768)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rewrite.Analyze(context.Background(), theWorld.schema, statements[0], rewrite.Description{}, settings)
		var pe *pgconn.PgError
		if err != nil && (!errors.As(err, &pe) || pe.Code != "54001") {
			t.Error(err)
		}
	}
}
