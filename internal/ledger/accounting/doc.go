// Package accounting computes what statements cost and whether budgets still hold them. It reads and writes nothing:
// stores give it accounts and write the entries that it returns.
//
//   - Amount (amount.go) is an exact sum of ε or δ; cost.go turns a charge into amounts.
//   - filter (filter.go) decides whether sums are within one budget; Rules (rules.go) holds the filters of a policy.
//   - Record (record.go, decode.go) is one event of an account; Account (account.go, state.go) holds the totals of its
//     records.
//   - A charge's divergences (curve.go) are stored once, however many records name them.
//   - Book (book.go, failures.go) decides one transaction's requests and collects its entries.
//   - Derivation (derive.go) recomputes every total, from the first record or from a checkpoint on.
//   - show.go and export.go describe accounts and records to the administrator.
package accounting
