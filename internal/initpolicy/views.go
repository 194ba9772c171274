package initpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// viewsOf adds views to a policy that was printed: those that statements can ask, as far as main's catalogs tell, and
// of the others why not.
func (d *document) viewsOf(ctx context.Context, conn *pgx.Conn, printed string) (string, error) {
	if len(d.views) == 0 {
		return "", nil
	}
	var readable []policy.Name
	for _, v := range d.views {
		if d.unread(v) == "" {
			readable = append(readable, policy.Name{Schema: v.Schema, Relation: v.Name})
		}
	}
	s, problem, err := schemaOf(ctx, conn, printed, readable)
	if err != nil {
		return "", err
	}
	var asked, not []string
	for _, v := range d.views {
		why := d.unread(v)
		if why == "" && s != nil {
			if problem, err = analysed(ctx, s, v); err != nil {
				return "", err
			}
		}
		if why = cmp.Or(why, problem); why == "" {
			asked = append(asked, quote(v.title()))
		} else {
			not = append(not, fmt.Sprintf("#   %s: %s", v.title(), why))
		}
	}
	var b strings.Builder
	if len(asked) > 0 {
		fmt.Fprintf(&b, "\n# Views are asked like subqueries over the tables above.\nviews: [%s]\n",
			strings.Join(asked, ", "))
	}
	if len(not) > 0 {
		fmt.Fprintf(&b, "\n# Views that cannot be asked:\n%s\n", strings.Join(not, "\n"))
	}
	return b.String(), nil
}

// unread says what keeps a view from being expanded; empty: nothing.
func (d *document) unread(v *table) string {
	if v.Kind == "m" {
		return "a materialised view, whose rows may mix those of several people; ask the tables that it reads"
	}
	var missing []string
	for _, r := range d.graph.Reads(d.relation(v)) {
		if t := d.table(r); t == nil || !d.protects(t) && !slices.Contains(d.public, t) {
			missing = append(missing, d.called(r))
		}
	}
	if len(missing) > 0 {
		return "it reads " + strings.Join(missing, ", ") + ", not listed above"
	}
	return ""
}

// schemaOf makes a schema of a policy that was printed, and views, with main's catalogs in place of the shadow's. A nil
// schema comes with why main has none.
func schemaOf(ctx context.Context, conn *pgx.Conn, printed string, views []policy.Name) (*rewrite.Schema, string,
	error,
) {
	p, err := policy.Parse("policy.yaml", []byte(printed))
	if err != nil {
		return nil, "", err
	}
	p.Views = views
	main, err := introspect.Read(ctx, conn, introspect.RelationNames(p))
	if err != nil {
		return nil, "", err
	}
	s, _, err := introspect.Schema(p, main, main.Listed(p))
	if err != nil {
		return nil, oneLine(err), nil
	}
	return s, "", nil
}

// analysed analyses a count of a view's rows; empty: it can be asked. An error: ctx has ended.
func analysed(ctx context.Context, s *rewrite.Schema, v *table) (string, error) {
	list, err := rewrite.Parse("SELECT count(*) FROM "+pgx.Identifier{v.Schema, v.Name}.Sanitize(), maxStatement)
	if err == nil {
		count := rewrite.ColumnDescription{Name: "count", Type: pgtype.Int8OID, Typmod: -1}
		_, err = rewrite.Analyze(ctx, s, list[0], rewrite.Description{Columns: []rewrite.ColumnDescription{count}},
			rewrite.Settings{TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres"})
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return oneLine(err), nil
	}
	return "", nil
}

// maxStatement bounds a count over one view, bytes: two names of 63 fit.
const maxStatement = 1024

// oneLine is the message of an error; of a refusal as PostgreSQL words it, without its code.
func oneLine(err error) string {
	text := err.Error()
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		text = refused.Message
	}
	return strings.ReplaceAll(text, "\n", "; ")
}
