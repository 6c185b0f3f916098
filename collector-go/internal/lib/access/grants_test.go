package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const someHash = "2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90" // of "alice"

func TestFaultsOfATokenFile(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"# nobody\n\n", `t: contains no entry, so all access would be refused`},
		"a token": {"s3cret write\n",
			`t:1: the first word is no SHA-256 of a token (64 hex digits), cert:NAME or user:NAME; printf %s "$TOKEN" | sha256sum makes a hash`},
		"short hash": {someHash[:60] + " write\n", `t:1: the first word is no SHA-256`},
		"typo in a kind": {"# x\ncret:plugin write\n",
			`t:2: the first word is no SHA-256 of a token (64 hex digits), cert:NAME or user:NAME; did you mean "cert:"?`},
		"no name":           {"cert: write\n", `t:1: the first word is no SHA-256`},
		"no scope":          {someHash + "\n", `t:1: scopes are missing: write WHO SCOPES [TOPOLOGY ...]`},
		"typo in a scope":   {someHash + " wriet\n", `t:1: scope "wriet" is unknown; did you mean "write"?`},
		"former name":       {someHash + " ingest\n", `t:1: scope "ingest" is called "write"`},
		"bound reading":     {someHash + " read bullet\n", `t:1: topologies bind writing, and this line only reads`},
		"none and more":     {"cert:a none,read\n", `t:1: scope "none" cannot be combined`},
		"none of something": {"cert:a none bullet\n", `t:1: scope "none" cannot be combined`},
		"twice": {"user:a read\nuser:b read\nuser:a write\n",
			`t:3: who this line is about is in line 1 already`},
		"all at once": {"user:a raed\nuser:b wrote\n",
			"t:1: scope \"raed\" is unknown; did you mean \"read\"?\nt:2: scope \"wrote\""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseGrants("t", []byte(c.text))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestTokenGrants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(path,
		[]byte("\ufeff  "+strings.ToUpper(someHash)+"\tread,write  bullet other\r\n"), 0o600))
	text, err := contents{}.read(path)
	require.NoError(t, err)
	g, err := parseGrants(path, text)
	require.NoError(t, err)
	found, name, ok := g.token("alice")
	require.True(t, ok)
	assert.Equal(t, "token 2bd806c9", name)
	assert.Nil(t, found.refusal(Requirement{Scope: Read, Topology: ""}, name))
	assert.Nil(t, found.refusal(Requirement{Scope: Write, Topology: "other"}, name))
	assert.Nil(t, found.refusal(Requirement{Scope: Write, Topology: ""}, name), "which topology is not known yet")
	assert.Equal(t, BadTopology, found.refusal(Requirement{Scope: Write, Topology: "third"}, name).Reason)
	_, _, ok = g.token("Alice")
	assert.False(t, ok)
}

func TestCertificateGrants(t *testing.T) {
	g, err := parseGrants("t",
		[]byte("cert:a.example write A\ncert:spiffe://b/c write B\ncert:leaked none\ncert:* read\n"))
	require.NoError(t, err)
	uri, err := url.Parse("spiffe://b/c")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		certificate x509.Certificate
		writes      string // any of the topologies A, B, C
		reads       bool
	}{
		"by a DNS name": {x509.Certificate{DNSNames: []string{"a.example"}}, "A", false},
		"by a URI":      {x509.Certificate{URIs: []*url.URL{uri}}, "B", false},
		"by two names": {x509.Certificate{Subject: pkix.Name{CommonName: "a.example"}, URIs: []*url.URL{uri}},
			"AB", false},
		"refused": {x509.Certificate{Subject: pkix.Name{CommonName: "a.example"},
			EmailAddresses: []string{"leaked"}}, "", false},
		"any other": {x509.Certificate{Subject: pkix.Name{CommonName: "x"}}, "", true},
		"called *":  {x509.Certificate{Subject: pkix.Name{CommonName: "*"}}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			found, ok := g.certificate(&c.certificate)
			require.True(t, ok)
			writes := ""
			for _, topology := range []string{"A", "B", "C"} {
				if found.refusal(Requirement{Scope: Write, Topology: topology}, "") == nil {
					writes += topology
				}
			}
			assert.Equal(t, c.writes, writes)
			assert.Equal(t, c.reads, found.refusal(Requirement{Scope: Read, Topology: ""}, "") == nil)
		})
	}
}

// A caller with a certificate and a token gets only the permissions that both grant.
func TestBothAllow(t *testing.T) {
	all, ofA, ofB, ofAB, reads := grant{write: true}, grant{write: true, topologies: []string{"A"}},
		grant{write: true, topologies: []string{"B"}},
		grant{read: true, write: true, topologies: []string{"A", "B"}}, grant{read: true}
	assert.Equal(t, ofA, all.and(ofA))
	assert.Equal(t, ofA, ofA.and(ofAB))
	assert.Equal(t, ofB, ofAB.and(ofB))
	assert.False(t, ofA.and(ofB).write)
	assert.True(t, reads.and(ofAB).read)
	assert.Equal(t, BadScope, reads.and(ofA).refusal(Requirement{Scope: Write, Topology: "A"}, "").Reason)
	assert.Equal(t, Certificate, all.and(grant{refused: true}).refusal(Requirement{Scope: Write, Topology: "A"}, "").Reason)
}

// The example in the documentation is a valid token file.
func TestThePagesTokenFile(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/security.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```\n# Storm's plugin")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	g, err := parseGrants("page", []byte("# Storm's plugin"+text))
	require.NoError(t, err)
	assert.Len(t, g.tokens, 3)
	assert.Len(t, g.certificates, 2)
	assert.Equal(t, map[string]grant{"ada": {read: true, write: true, topologies: []string{"bullet"}}}, g.users)
}

// A file without a fault has at least one entry, and no text causes a panic.
func FuzzTokenFile(f *testing.F) {
	f.Add("# c\n" + someHash + " write bullet\ncert:* none\nuser:a read,write\n")
	f.Add("cert: \n:\nread read\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parseGrants("t", []byte(text))
		if err == nil && len(g.tokens)+len(g.certificates)+len(g.users) == 0 {
			t.Fatal("nobody is named, and nothing is wrong")
		}
	})
}

func TestAFileThatIsTooLarge(t *testing.T) {
	path := t.TempDir() + "/tokens"
	require.NoError(t, os.WriteFile(path, make([]byte, maxFileBytes+1), 0o600))
	_, err := Open(Options{Port: GRPC, Listen: "127.0.0.1:1", TokenFile: path})
	require.ErrorContains(t, err, "larger than 1 MiB")
}
