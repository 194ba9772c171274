package backend

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Schema reads the catalogs of main and shadow and joins them, and takes the numbers of types over. It reads no row.
func (b *Backend) Schema(ctx context.Context) (*rewrite.Schema, error) {
	s, numbers, err := b.readSchema(ctx)
	if err == nil {
		b.types.Store(&numbers)
		b.pinSets.Purge() // what was prepared for other tables is not executed any more
	}
	return s, err
}

// Fits reports whether main and shadow are still those of a schema. An error says that one did not answer, or how they
// do not fit the policy.
func (b *Backend) Fits(ctx context.Context, s *rewrite.Schema) (bool, error) {
	fresh, _, err := b.readSchema(ctx)
	if err != nil {
		return false, err
	}
	return fresh.Same(s), nil
}

func (b *Backend) readSchema(ctx context.Context) (*rewrite.Schema, introspect.TypeNumbers, error) {
	names := introspect.RelationNames(b.policy)
	main, err := b.check.catalogs(ctx, names) // a plan that main does not bear out has it read again, for nothing
	if err != nil {
		return nil, nil, err
	}
	shadow, err := b.shadow.catalogs(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	return introspect.Schema(b.policy, main, shadow)
}

func (p *pool) catalogs(ctx context.Context, names []policy.Name) (*introspect.Catalogs, error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if err := unpin(ctx, conn.Conn()); err != nil {
		return nil, p.unreachable(err)
	}
	c, err := introspect.Read(ctx, conn.Conn(), names)
	if err != nil {
		return nil, fmt.Errorf("databases.%s: %w", p.name, err)
	}
	return c, nil
}
