// Package provision makes and checks what dpproxy needs of its databases.
//
// Setup (setup.go) makes the roles that the policy's DSNs name, their grants, the shadow and a shared ledger's schema;
// SetupScript (script.go) prints the same steps (steps.go) for psql. CheckLive (live.go) compares the policy with the
// databases: what the roles can read beyond it (privileges.go, readable.go), where the shadow differs, which values of
// a domain are equal in their column (domains.go). No private row is read.
package provision
