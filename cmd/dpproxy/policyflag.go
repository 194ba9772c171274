package main

import "github.com/dpproxy/dpproxy/internal/policy"

// policyFlag is embedded by every command that reads a policy.
type policyFlag struct {
	Policy string `required:"" placeholder:"FILE" help:"Policy file."`
}

// load reads the policy and makes sure that the connections that the command uses are known.
func (f policyFlag) load(connections ...string) (*policy.Policy, error) {
	p, err := policy.Load(f.Policy)
	if err != nil {
		return nil, err
	}
	return p, p.Need(connections...)
}
