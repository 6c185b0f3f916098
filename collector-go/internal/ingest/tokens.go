package ingest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Tokens says which bearer tokens may send. They come from a file that holds no token, only hashes, one a line:
//
//	<SHA-256 of the token in hex> ingest [topology ...]
//
// A line with topologies is for these alone. Lines with another scope than ingest are for others; empty lines and those that
// begin with # are skipped. `printf %s "$TOKEN" | sha256sum` makes a hash. The file is read again when it changes; a file
// that has become unreadable or wrong leaves the tokens as they were.
type Tokens struct {
	path string

	mu      sync.Mutex
	lines   []tokenLine
	stamp   fileStamp
	checked time.Time
}

type tokenLine struct {
	hash  [sha256.Size]byte
	grant grant
}

// grant is what a token allows: sending for these topologies, or, if there are none, for all.
type grant struct{ topologies []string }

func (g grant) covers(topology string) bool {
	return len(g.topologies) == 0 || slices.Contains(g.topologies, topology)
}

// recheckEvery bounds how often a file is looked at.
const recheckEvery = time.Second

// LoadTokens reads the file.
func LoadTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path}
	if err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tokens) load() error {
	stamp, err := stampOf(t.path)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	text, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	lines, err := parseTokens(text)
	if err != nil {
		return fmt.Errorf("token file %s: %w", t.path, err)
	}
	t.lines, t.stamp = lines, stamp
	return nil
}

func parseTokens(text []byte) ([]tokenLine, error) {
	var lines []tokenLine
	scan := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; scan.Scan(); number++ {
		fields := strings.Fields(scan.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		var line tokenLine
		if n, err := hex.Decode(line.hash[:], []byte(clip(fields[0], 2*sha256.Size))); err != nil || n != sha256.Size ||
			len(fields[0]) != 2*sha256.Size || len(fields) < 2 {
			return nil, fmt.Errorf("line %d: want \"<64 hex digits> <scope> [topology ...]\"", number)
		}
		if fields[1] == "ingest" {
			line.grant.topologies = fields[2:]
			lines = append(lines, line)
		}
	}
	return lines, scan.Err()
}

func clip(s string, n int) string { return s[:min(n, len(s))] }

// check finds a token's grant. All lines are compared, each in constant time.
func (t *Tokens) check(token string, now time.Time) (grant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh(now)
	hash := sha256.Sum256([]byte(token))
	var found grant
	ok := false
	for _, line := range t.lines {
		if subtle.ConstantTimeCompare(hash[:], line.hash[:]) == 1 {
			found, ok = line.grant, true
		}
	}
	return found, ok
}

// refresh reads the file again if it has changed.
func (t *Tokens) refresh(now time.Time) {
	if now.Sub(t.checked).Abs() < recheckEvery {
		return
	}
	t.checked = now
	if stamp, err := stampOf(t.path); err == nil && stamp != t.stamp {
		_ = t.load()
	}
}

// fileStamp tells a file from a later version of it.
type fileStamp struct {
	size     int64
	modified time.Time
}

func stampOf(path string) (fileStamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}, err
	}
	return fileStamp{info.Size(), info.ModTime()}, nil
}

// Allows says why a caller with this authorization header may not send for a topology; nil when it may.
func (t *Tokens) Allows(authorization, topology string, now time.Time) error {
	g, err := t.grantOf(authorization, now)
	if err == nil && !g.covers(topology) {
		err = fmt.Errorf("the token is not for topology %q", topology)
	}
	return err
}

// grantOf is what the token in an authorization header allows.
func (t *Tokens) grantOf(authorization string, now time.Time) (grant, error) {
	if authorization == "" {
		return grant{}, errors.New("no token: send the header \"authorization: Bearer <token>\"")
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return grant{}, errors.New("the authorization header is no bearer token")
	}
	g, ok := t.check(token, now)
	if !ok {
		return grant{}, errors.New("the token is not known here")
	}
	return g, nil
}

// authenticate is what the caller's token allows.
func (s *Server) authenticate(ctx context.Context) (grant, error) {
	if s.tokens == nil {
		return grant{}, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	authorization := ""
	if values := md.Get("authorization"); len(values) == 1 {
		authorization = values[0]
	}
	g, err := s.tokens.grantOf(authorization, s.o.Now())
	if err != nil {
		return grant{}, status.Error(codes.Unauthenticated, err.Error())
	}
	return g, nil
}
