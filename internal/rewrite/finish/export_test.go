package finish

// Cut takes the stubs out of a text: what stands around them, and which each is.
func Cut(text string, stubs int) ([]string, []int, error) {
	t := &Template{}
	err := t.cut(text, stubs)
	return t.text, t.reads, err
}
