package finish

// Split takes the stubs out of a text: what stands around them, and which each is.
func Split(text string, stubs int) ([]string, []int, error) {
	t := &Template{}
	err := t.split(text, stubs)
	return t.text, t.placeholders, err
}
