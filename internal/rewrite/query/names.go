package query

// Names are what a tree reads and defines.
type Names struct {
	Columns map[*Alias]bool // read
	Defined map[*Alias]bool // by FROM items
	Tables  bool            // a FROM item is a table
	Given   bool            // a parameter's value is what a stage answers
}

// NamesOf finds what an expression reads.
func NamesOf(x Scalar) Names {
	n := Names{Columns: map[*Alias]bool{}, Defined: map[*Alias]bool{}}
	n.visitor().OfScalar(x)
	return n
}

// NamesOfSource finds what a FROM item reads.
func NamesOfSource(s Source) Names {
	n := Names{Columns: map[*Alias]bool{}, Defined: map[*Alias]bool{}}
	n.visitor().OfSource(s)
	return n
}

func (n *Names) visitor() Map {
	return Map{
		Scalar: func(x Scalar) Scalar {
			switch v := x.(type) {
			case Column:
				n.Columns[v.Of] = true
			case *Parameter:
				n.Given = n.Given || v.Given != nil
			}
			return x
		},
		Source: func(s Source) Source {
			switch v := s.(type) {
			case *Table:
				n.Tables = true
			case *Values:
				n.Defined[v.As] = true
			case *Function:
				n.Defined[v.As] = true
			case *Derived:
				n.Defined[v.As] = true
			}
			return s
		},
	}
}
