package access

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

func TestAWebConfigurationFileIsRead(t *testing.T) {
	c, err := readWeb("/etc/web.yml", []byte(`
tls_server_config:
  cert_file: c.pem
  key_file: /k.pem
  client_ca_file: ca.pem
  client_auth_type: VerifyClientCertIfGiven
  min_version: TLS13
  cipher_suites: [TLS_AES_128_GCM_SHA256]
  curve_preferences: [X25519]
http_server_config: {http2: false, headers: {X-Frame-Options: deny}}
rate_limit: {burst: 5, interval: 1s}
basic_auth_users:
  grafana: `+accesstest.PasswordHash+"\n"))
	require.NoError(t, err)
	assert.Equal(t, "/etc/c.pem", c.TLSConfig.TLSCertPath)
	assert.Equal(t, "/k.pem", c.TLSConfig.TLSKeyPath)
	assert.Equal(t, "/etc/ca.pem", c.TLSConfig.ClientCAs)
	assert.EqualValues(t, tls.VersionTLS13, c.TLSConfig.MinVersion)
	assert.Len(t, c.TLSConfig.CipherSuites, 1)
	assert.Len(t, c.TLSConfig.CurvePreferences, 1)
	assert.False(t, c.HTTPConfig.HTTP2)
	assert.Equal(t, accesstest.PasswordHash, string(c.Users["grafana"]))
	assert.Equal(t, 5, c.RateLimiterConfig.Burst)
}

func TestFaultsOfAWebConfigurationFile(t *testing.T) {
	const pair = "tls_server_config:\n  cert_file: c\n  key_file: k\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":    {" \n", "w: the file is empty"},
		"not YAML": {"a: [1\n", "w:1: "},
		"typo": {"\ntls_server_confg: {}\n",
			`w:2: unknown field "tls_server_confg"; did you mean "tls_server_config"?`},
		"typo inside": {"tls_server_config:\n  cert_file: c\n  kye_file: k\n",
			`w:3: unknown field "kye_file"; did you mean "key_file"?`},
		"half a pair": {"tls_server_config: {cert_file: c}\n",
			"w: tls_server_config requires a certificate (cert_file or cert) and a key (key_file or key)"},
		"old TLS":     {pair + "  min_version: TLS11\n", "w: tls_server_config.min_version must be TLS12 or TLS13"},
		"unknown TLS": {pair + "  min_version: TLS9\n", "unknown TLS version: TLS9"},
		"looks at none": {pair + "  client_ca_file: a\n  client_auth_type: RequireAnyClientCert\n",
			"does not verify certificates, or is unknown; use NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert"},
		"no authority":    {pair + "  client_auth_type: RequireAndVerifyClientCert\n", "belong together"},
		"authority alone": {pair + "  client_ca_file: a\n", "belong together"},
		"names alone":     {pair + "  client_allowed_sans: [a]\n", "client_allowed_sans requires client_auth_type"},
		"password": {"basic_auth_users:\n  grafana: hunter2\n",
			"w: basic_auth_users.grafana: the password is not a bcrypt hash"},
		"header": {"http_server_config: {headers: {X-Frame-Option: deny}}\n",
			`"X-Frame-Option" cannot be set; did you mean "X-Frame-Options"?`},
		"header's value": {"http_server_config: {headers: {X-Frame-Options: all}}\n",
			"X-Frame-Options must be one of deny, sameorigin"},
		"wrong shape": {"basic_auth_users: [hunter2]\n", "w:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readWeb("w", []byte(c.text))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func FuzzWebFile(f *testing.F) {
	f.Add("tls_server_config: {cert_file: c, key_file: k}\nbasic_auth_users: {a: b}\n")
	f.Add("a: &x {b: *x}\n")
	f.Add(strings.Repeat("{a: ", 20_000))
	f.Fuzz(func(t *testing.T, text string) { _, _ = readWeb("w", []byte(text)) })
}
