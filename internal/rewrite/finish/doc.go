// Package finish keeps the client's own form above the releases: every release block becomes a read of released
// integers, by unnest(). What is above is the client's text; the shadow computes it, and package catalog checks every
// name in it.
package finish
