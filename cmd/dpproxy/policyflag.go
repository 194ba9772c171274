package main

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/server"
)

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

// databaseFlag is embedded by commands that are about one database.
type databaseFlag struct {
	Database string `placeholder:"NAME" help:"Which one, where the policy has several databases."`
}

// one reads the policy of the database, and makes sure that its connections are known.
func (f databaseFlag) one(file policyFlag) (*policy.Policy, error) {
	p, err := file.load()
	if err != nil {
		return nil, err
	}
	if p, err = p.One(f.Database); err != nil {
		return nil, &failure{code: exitUsage, err: err}
	}
	return p, server.Need(p)
}
