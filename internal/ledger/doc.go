// Package ledger decides whether a statement may be charged to an analyst's budget, and remembers that it was.
//
// # How a charge travels
//
//  1. The engine describes what a statement costs (Charge) and calls Spend.
//  2. The charge becomes exact integers (Amount): ε at order ∞, and one Rényi divergence for each of mechanism.Orders.
//  3. The analyst's account, and the account of all analysts together, are asked whether they still fit their budgets
//     with the charge added. The question is put to filter.spent and to nothing else: what an analyst is shown is the
//     figure that decides.
//  4. A record is appended, and the account's new totals are written beside it, in one transaction.
//  5. Only when that transaction is on disk does Spend return. Nothing ever takes a charge back.
//
// # Two stores
//
// fileStore keeps everything in one bbolt file that one process holds; tableStore in tables of a PostgreSQL database
// that several proxies share. Both append the same records (record.go) and evaluate the same rules (book.go); they
// differ in how they lock and commit. Records are never changed or removed: totals can be derived from them at any
// time, and `dpproxy budget verify` does so.
//
// # Glossary
//
//   - account: what is kept of one analyst; the group account is that of all analysts together.
//   - period: the time over which a budget holds. A new one begins when `every` has passed, or by `budget reset`.
//   - order: of a Rényi divergence. ∞ is the plain sum of ε.
//   - chain: the hash of a record and of the one before it; one changed bit breaks every later link.
//
// docs/budget.md has the filter's proof and the file's layout.
package ledger
