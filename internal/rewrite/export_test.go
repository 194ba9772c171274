package rewrite

// KnownNodes lets the test of node types see the list.
var KnownNodes = knownNodes
