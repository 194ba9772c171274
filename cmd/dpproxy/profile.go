package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/profile"
)

type profileCommand struct {
	policyFlag
	databaseFlag
	Table    string  `placeholder:"T" help:"Profile this table; without it, every private one."`
	Epsilon  float64 `required:"" placeholder:"E" help:"All of it costs together what one statement at this epsilon does."`
	Quantile float64 `default:"0.999" placeholder:"Q" help:"Share of the units that the bounds are to hold, where there are enough of them: from 0.5 to 0.9999 (0.999)."`
	Groups   bool    `help:"Find how many rows of a unit are in one group, too: by day, month and value. What is beyond them widens all intervals."`
	Write    bool    `help:"Write the keys into the policy file too, and keep its comments."`
	DryRun   bool    `help:"Say what it would take of the budget, and end."`
}

// Help is shown by --help.
func (profileCommand) Help() string {
	return "Releases bounds, rows per unit, the shares that are beyond them and domains of texts, with noise, as keys of the policy. It is " +
		"charged to the budget profile: of the policy, if there is one, and to that of all analysts together, before anything is read. Where one statement fits N times into a budget, so does one profile at its epsilon."
}

func (c *profileCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.prepare()
	if err != nil {
		return err
	}
	l, err := admin.OpenAccount(ctx, p.Ledger, policy.ProfileAccount, ledger.ConfigOf(p))
	if err != nil {
		return err
	}
	defer l.Close()
	agree := func(price profile.Price) bool {
		s.say(
			"profile: at most %d statements share the price of one at epsilon %s, of which the whole budget holds %.3g; it takes about %s of the budget, and leaves %s",
			price.Statements, number(c.Epsilon), price.Holds, ledger.Percent(price.Share), ledger.PercentLeft(price.Left))
		return !c.DryRun
	}
	found, err := profile.Run(ctx, p, l, profile.Options{
		Table: c.Table, Epsilon: c.Epsilon, Quantile: c.Quantile, Groups: c.Groups,
		Agree: agree,
	}, newLog(s.err))
	if err != nil || found == nil {
		return err
	}
	s.say("profile: %s of its budget is spent, %s left", ledger.Percent(found.Balance.ShareSpent),
		ledger.PercentLeft(found.Balance.ShareLeft))
	for _, remark := range found.Remarks {
		fmt.Fprintf(s.err, "note: %s\n", remark)
	}
	if len(found.Keys) == 0 {
		if found.TooFew != nil {
			return found.TooFew
		}
		return errors.Join(errors.New("no key was found"), found.Failed)
	}
	fmt.Fprint(s.out, policy.Print(p.Name, found.Keys))
	if c.Write {
		err = rewritePolicy(p, func(data []byte) ([]byte, error) { return policy.Edit(p.File, data, p.Name, found.Keys) })
	}
	return errors.Join(err, found.Failed)
}

// prepare reads the policy and checks the flags.
func (c *profileCommand) prepare() (*policy.Policy, error) {
	wrong := func(format string, args ...any) error {
		return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
	}
	p, err := c.one(c.policyFlag)
	if err != nil {
		return nil, err
	}
	switch {
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 0):
		return nil, wrong("--epsilon must be above 0")
	case !(c.Quantile >= 0.5 && c.Quantile <= 0.9999):
		return nil, wrong("--quantile must be from 0.5 to 0.9999")
	case p.ProfileBudget() == nil:
		return nil, &failure{
			exitUsage, fmt.Errorf("%s: there is no budget to profile with", c.Policy),
			"write profile: {epsilon: 5}, or budget: {epsilon: 40} for all analysts together",
		}
	}
	return p, nil
}

// rewritePolicy edits a policy file as a whole, or not at all. It stays its owner's, and readable by whom it was.
func rewritePolicy(p *policy.Policy, edit func(data []byte) ([]byte, error)) error {
	path, err := filepath.EvalSymlinks(p.File)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if data, err = edit(data); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".policy-")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	owner := info.Sys().(*syscall.Stat_t)
	if err := errors.Join(fresh.Chown(int(owner.Uid), int(owner.Gid)), fresh.Chmod(info.Mode().Perm()),
		writeAll(fresh, data)); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// writeAll writes to a file, durably, and closes it.
func writeAll(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
