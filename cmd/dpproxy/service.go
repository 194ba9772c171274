package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// The service of the packages: packaging/dpproxy.service.
const (
	serviceUser    = "dpproxy" // and its group, which packaging/preinstall.sh makes
	servicePolicy  = "/etc/dpproxy/policy.yaml"
	serviceSecrets = "secrets" // beside the policy
	serviceState   = "/var/lib/dpproxy"
)

// writeService writes a policy and passwords that the service can read and not change, and makes the folder of its
// ledger. A policy that is there is nobody's to replace.
func (s *streams) writeService(text string) error {
	if _, err := os.Lstat(servicePolicy); !errors.Is(err, fs.ErrNotExist) {
		return hinted(errors.Join(err, fmt.Errorf("%s is there", servicePolicy)), "init --add TABLE writes one more table into it")
	}
	service, err := user.Lookup(serviceUser)
	if err != nil {
		return hinted(err, "the packages make this user")
	}
	owner, err := strconv.Atoi(service.Uid)
	if err != nil {
		return err
	}
	group, err := strconv.Atoi(service.Gid)
	if err != nil {
		return err
	}
	secrets := filepath.Join(filepath.Dir(servicePolicy), serviceSecrets)
	if err := writeSecrets(secrets, group); err != nil {
		return err
	}
	if err := errors.Join(
		os.Chown(secrets, -1, group), os.Chmod(secrets, 0o750),
		os.MkdirAll(serviceState, 0o700), os.Chown(serviceState, owner, group), // as systemd makes it
		create(servicePolicy, text, group),
	); err != nil {
		return err
	}
	s.say("init: %s: look at every line that says REVIEW, then", servicePolicy)
	s.say("    DPPROXY_ADMIN_DSN=postgres://… dpproxy setup --policy %s", servicePolicy)
	s.say("    systemctl enable --now dpproxy")
	return nil
}
