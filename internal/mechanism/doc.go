// Package mechanism turns one exact integer into one released integer, and says what that costs.
//
// Everything lies on a public integer grid. A mechanism is three choices that do not depend on one another:
//
//	noise      laplace: weight exp(−κ|d|)   gaussian: weight exp(−κd²)      staircase: exp(−κ·stairs)      d an integer
//	bounding   truncate, fold, denoise, clamp
//	guarantee  pure ε, or a Rényi divergence of one order, or (ε, δ); always with a Rényi curve for the ledger
//
// The scale is always the float64 κ, which is a dyadic rational k/2^m and therefore exact in the sampler: what is
// calibrated is what is sampled. From κ everything follows:
//
//	release.go, curve.go       what is released, what it costs
//	kernel.go, fixedexp.go,    κ and its exact exponents; exp(−y) in 64 bits and in any precision
//	bigexp.go
//	staircase.go               staircase noise: sums, divergences, its period
//	cells.go                   randomised response on the cells of a short range
//	sampler.go, uniform.go,    integer sampling with a constant number of draws
//	draw.go, source.go
//	shares.go                  one of several weights, with exactly its share
//	ranges.go                  valid sets: checks, folding, segments
//	mass.go, error.go          sums of weights over the grid; expected errors
//	profile.go, gdp.go         hockey stick (ε, δ), also of Gaussian differential privacy
//	task.go, layers.go         several groups of one unit, several releases of disjoint rows
//	sampled.go                 what is drawn, as internal/loss knows it, and what that costs against what is charged
//	calibrate.go               κ from a guarantee
//	candidate.go, choice.go,   the mechanisms of one release, the choice, the public interface
//	prepare.go
//	margin.go, pair.go,        95% margins, of two and of several releases too, standard deviations, ε for a margin
//	combine.go
//	outline.go                 what the released value's distribution looks like, for a figure
//	box.go                     joint Gaussian noise on a box
//	vector.go                  the releases of a block
//	cube.go,                   joint noise for several of them: sampler, errors, choice, enumeration
//	cube_distribution.go,
//	cube_vector.go,
//	cube_verify.go
//	running.go                 noise for all groups of running totals
//	quantile.go                exponential mechanism on ranks
//	family.go,                 several quantiles of the same rows by halving; their enumeration
//	family_verify.go
//	jointquantiles.go,         the same jointly, under a pure guarantee
//	jointcuts.go, finegrid.go,
//	floating.go,
//	joint_verify.go
//	selection.go, threshold.go partition selection: optimal, and by a Gaussian threshold
//	paper.go, croft.go         the papers' own calibrations
//	verify.go, table.go        proof by enumeration; all mechanisms side by side
//	memo.go                    what pure functions of public quantities have given
//
// What noise costs is said by internal/loss. Calibration searches for a scale with it, with a margin on the private
// side of 1e-9, and need not be believed: what is drawn is verified when it is charged (Prepared.Verify). Floating
// point decides how much noise is drawn, never which number is released: from random words to the released integer
// there are only integers.
//
// The proofs are in docs/mechanisms.md. The package knows no SQL and no network; its only input from outside is
// crypto/rand.
package mechanism
