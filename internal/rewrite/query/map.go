package query

import "slices"

// Map rebuilds a tree from below: every node is what the functions make of it, once its parts are rebuilt. A nil
// function keeps nodes as they are.
type Map struct {
	Scalar func(Scalar) Scalar
	Query  func(Query) Query
	Source func(Source) Source
}

// OfScalar rebuilds an expression.
func (m Map) OfScalar(x Scalar) Scalar {
	switch v := x.(type) {
	case nil:
		return nil
	case Form:
		v.Of = m.scalars(v.Of)
		x = v
	case List:
		v.Of = m.scalars(v.Of)
		x = v
	case Clamp:
		v.X, v.Lo, v.Hi, v.Within = m.OfScalar(v.X), m.OfScalar(v.Lo), m.OfScalar(v.Hi), m.OfScalar(v.Within)
		x = v
	case Aggregate:
		v.Call, v.Where = m.OfScalar(v.Call), m.OfScalar(v.Where)
		x = v
	case Over:
		v.Call, v.Partition, v.Order, v.Frame = m.OfScalar(v.Call), m.scalars(v.Partition), m.scalars(v.Order),
			m.OfScalar(v.Frame)
		x = v
	case UnitClamp:
		v.X = m.OfScalar(v.X)
		x = v
	case UnitRows:
		v.Rows, v.Upto, v.All, v.Hash = m.OfScalar(v.Rows), m.OfScalar(v.Upto), m.OfScalar(v.All), m.OfScalar(v.Hash)
		x = v
	case UnitWeight:
		v.Rows = m.OfScalar(v.Rows)
		x = v
	case SelectionWeight:
		v.Groups = m.OfScalar(v.Groups)
		x = v
	case UnitShare:
		v.X, v.Rows, v.Kept, v.Before, v.Hash = m.OfScalar(v.X), m.OfScalar(v.Rows), m.OfScalar(v.Kept),
			m.scalars(v.Before), m.OfScalar(v.Hash)
		x = v
	case UnitTotal:
		v.X, v.Total = m.OfScalar(v.X), m.OfScalar(v.Total)
		x = v
	case Pick:
		v.Partition, v.Order = m.scalars(v.Partition), m.scalars(v.Order)
		x = v
	case Subquery:
		v.Query = m.OfQuery(v.Query)
		x = v
	case Exists:
		v.Query = m.OfQuery(v.Query)
		x = v
	case Compared:
		v.Left, v.Query = m.scalars(v.Left), m.OfQuery(v.Query)
		x = v
	}
	if m.Scalar == nil {
		return x
	}
	return m.Scalar(x)
}

// OfQuery rebuilds a query.
func (m Map) OfQuery(q Query) Query {
	switch v := q.(type) {
	case *Select:
		s := *v
		s.DistinctOn, s.Where, s.OrderBy = m.scalars(v.DistinctOn), m.scalars(v.Where), m.scalars(v.OrderBy)
		s.Outputs = slices.Clone(v.Outputs)
		for i := range s.Outputs {
			s.Outputs[i].X = m.OfScalar(s.Outputs[i].X)
		}
		if v.From != nil {
			s.From = m.OfSource(v.From)
		}
		q = &s
	case *SetOp:
		s := *v
		s.Of = slices.Clone(v.Of)
		for i := range s.Of {
			s.Of[i] = m.OfQuery(s.Of[i])
		}
		q = &s
	case *Ordinals:
		s := *v
		s.Arrays = m.scalars(v.Arrays)
		q = &s
	case once:
		q = once{m.OfSource(v.from), m.scalars(v.columns)}
	}
	if m.Query == nil {
		return q
	}
	return m.Query(q)
}

// OfSource rebuilds a FROM item.
func (m Map) OfSource(s Source) Source {
	switch v := s.(type) {
	case *Values:
		c := *v
		c.Rows = make([][]Scalar, len(v.Rows))
		for i, row := range v.Rows {
			c.Rows[i] = m.scalars(row)
		}
		s = &c
	case *Function:
		c := *v
		c.Call = m.OfScalar(v.Call)
		s = &c
	case *Derived:
		c := *v
		c.Query = m.OfQuery(v.Query)
		s = &c
	case *Join:
		c := *v
		c.Left, c.Right, c.On = m.OfSource(v.Left), m.OfSource(v.Right), m.scalars(v.On)
		s = &c
	case Product:
		c := make(Product, len(v))
		for i := range v {
			c[i] = m.OfSource(v[i])
		}
		s = c
	}
	if m.Source == nil {
		return s
	}
	return m.Source(s)
}

func (m Map) scalars(list []Scalar) []Scalar {
	if list == nil {
		return nil
	}
	out := make([]Scalar, len(list))
	for i, x := range list {
		out[i] = m.OfScalar(x)
	}
	return out
}

// Closed reports whether a query reads columns of its own FROM items alone, and no released value.
func Closed(q Query) bool {
	own, read, released := map[*Alias]bool{}, map[*Alias]bool{}, false
	Map{
		Scalar: func(x Scalar) Scalar {
			switch v := x.(type) {
			case Column:
				read[v.Of] = true
			case *Parameter:
				released = released || v.Given != nil
			}
			return x
		},
		Source: func(s Source) Source {
			switch v := s.(type) {
			case *Table:
				own[v.As] = true
			case *Values:
				own[v.As] = true
			case *Function:
				own[v.As] = true
			case *Derived:
				own[v.As] = true
			}
			return s
		},
	}.OfQuery(q)
	for a := range read {
		if !own[a] {
			return false
		}
	}
	return !released
}
