// Package consistency makes released numbers add up that are parts of each other, as the groups of ROLLUP are
// (docs/mechanisms.md, section 17). It sees released numbers and public facts of their noise alone, so what it gives is
// post-processing of a release (docs/privacy.md P17b).
package consistency
