package backend

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Schema reads the catalogs of main and shadow and joins them. It reads no row.
func (b *Backend) Schema(ctx context.Context) (*rewrite.Schema, error) {
	names := introspect.RelationNames(b.policy)
	main, err := b.check.catalogs(ctx, names) // a plan that main does not bear out has it read again, for nothing
	if err != nil {
		return nil, err
	}
	shadow, err := b.shadow.catalogs(ctx, names)
	if err != nil {
		return nil, err
	}
	s, numbers, err := introspect.Schema(b.policy, main, shadow)
	if err != nil {
		return nil, err
	}
	b.types.Store(&numbers)
	return s, nil
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
