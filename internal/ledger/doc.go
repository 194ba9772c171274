// Package ledger says what a ledger is: it admits a statement's charge to an analyst's budget, records it durably, and
// keeps released answers. The packages below it do the work:
//
//   - accounting: amounts, the filter that admits charges, accounts and records. Pure.
//   - stores: opens a ledger. stores/bolt keeps it in one file that one process holds, stores/postgres in tables that
//     several proxies share. stores/accounts is what both do alike.
//   - pagecheck: proves that a damaged file does not reach bbolt.
//   - admin: `dpproxy budget` on the ledger of a running proxy.
//
// # How a charge travels
//
//  1. The engine describes what a statement costs (Charge) and calls Spend.
//  2. A store collects requests into a batch and gives each a book (accounting.Book) on the analyst's account and on
//     that of all analysts together.
//  3. The charge becomes exact integers: ε at order ∞, and one Rényi divergence for each of mechanism.Orders.
//  4. Both accounts, with the charge added, must fit their budgets. The filter that decides also computes what an
//     analyst is shown.
//  5. The store writes the new records and the accounts' new totals in one transaction.
//  6. Spend returns once that transaction is on disk. Nothing ever takes a charge back.
//
// Both stores append the same records and follow the same rules; they differ in how they lock and commit. Records are
// never changed or removed. `dpproxy budget verify` derives all totals from them, and holds every checkpoint to them.
//
// # Glossary
//
//   - account: the totals of one analyst. The group account is that of all analysts together.
//   - entry: a record with its bytes and its chain, as a store writes it.
//   - batch: the entries, accounts and answers of one transaction.
//   - period: the time for which a budget holds. A new one begins when `every` has passed, or by `budget reset`.
//   - order: of a Rényi divergence. At order ∞ divergences are plain ε.
//   - chain: the hash of a record and of all before it; one changed bit breaks every later link.
//   - checkpoint: a record of what all before it in its account add up to. A start reads from the latest one on.
//   - curve: the Rényi divergences of a charge. Records name them by their hash.
//
// docs/budget.md has the filter's proof and the file's layout.
package ledger
