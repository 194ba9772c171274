package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/dpproxy/dpproxy/internal/verifier"
)

// maxPassword bounds a line of standard input, bytes: libpq's limit for passwords is of this size.
const maxPassword = 1024

type passwdCommand struct{}

func (passwdCommand) Run(s *streams) error {
	password, err := s.readPassword()
	if err != nil {
		return err
	}
	v, err := verifier.New(password)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, v)
	return nil
}

// readPassword asks twice on a terminal, without echo; else it takes the first line.
func (s *streams) readPassword() (string, error) {
	if f, ok := s.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		first, err := s.prompt(f, "Password: ")
		if err != nil {
			return "", err
		}
		again, err := s.prompt(f, "Again: ")
		if err != nil {
			return "", err
		}
		if first != again {
			return "", errors.New("the passwords differ")
		}
		return first, nil
	}
	line, err := bufio.NewReader(io.LimitReader(s.in, maxPassword+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("standard input: %w", err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if len(line) > maxPassword {
		return "", fmt.Errorf("the password is longer than %d bytes", maxPassword)
	}
	return line, nil
}

func (s *streams) prompt(f *os.File, text string) (string, error) {
	fmt.Fprint(s.err, text)
	line, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(s.err)
	return string(line), err
}
