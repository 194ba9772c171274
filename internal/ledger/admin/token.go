package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
)

// tokenLife is how long a token lets its bearer into the console as administrator, once.
const tokenLife = 2 * time.Minute

// Keeper is the part of a ledger that keeps answers, and tokens beside them.
type Keeper interface {
	Answer(ctx context.Context, key string) ([]byte, bool, error)
	PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) ([]byte, error)
}

// tokenKey is under which key a token is kept: its hash, so that who reads the ledger cannot use it. No answer has such
// a key: those are hex.
func tokenKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "console token " + hex.EncodeToString(sum[:])
}

// Token makes a token. Whoever may call it may read and change the ledger anyway: through the running proxy's socket,
// or, where proxies share a ledger, in its tables.
func Token(ctx context.Context, dsn string, c ledger.Config) (string, error) {
	if ledger.FilePath(dsn) == "" {
		s, err := stores.Open(ctx, dsn, c)
		if err != nil {
			return "", err
		}
		defer s.Close()
		return newToken(ctx, s)
	}
	client, err := Dial(ctx, SocketPath(dsn))
	if err != nil {
		return "", fmt.Errorf("no running dpproxy answers: %w", err)
	}
	defer client.Close()
	var token string
	err = client.quick(ctx, http.MethodPost, "/token", "", &token)
	return token, err
}

func newToken(ctx context.Context, l any) (string, error) {
	keeper, ok := l.(Keeper)
	if !ok {
		return "", errors.New("this ledger keeps no tokens")
	}
	token := rand.Text()
	_, err := keeper.PutAnswer(ctx, tokenKey(token), []byte("administrator"), tokenLife)
	return token, err
}

// Redeem reports whether a token is good. It is so once, whichever of the proxies that share a ledger is asked: the
// first to leave its mark beside the token has it.
func Redeem(ctx context.Context, k Keeper, token string) (bool, error) {
	key := tokenKey(token)
	_, found, err := k.Answer(ctx, key)
	if err != nil || !found {
		return false, err
	}
	mark := []byte(rand.Text())
	first, err := k.PutAnswer(ctx, key+" used", mark, 2*tokenLife)
	return err == nil && bytes.Equal(first, mark), err
}
