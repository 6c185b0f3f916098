package access

import (
	"crypto/x509"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Limits on the log of refusals. Within each quietTime, there is one line per address and reason, and at most
// linesAQuiet in total.
const (
	quietTime     = 10 * time.Second
	linesAQuiet   = 20
	maxDetail     = 300 // bytes
	maxRemembered = 1024
)

// refusals counts all refused callers and logs some of them. A flood of refused callers must neither fill the log nor
// go unnoticed. It is safe for concurrent use.
type refusals struct {
	log   *slog.Logger
	now   func() time.Time
	port  string
	total *prometheus.CounterVec

	mu     sync.Mutex
	said   map[string]time.Time // by reason and address
	began  time.Time            // start of the current quiet time
	lines  int                  // number in the current quiet time
	unsaid int
}

func newRefusals(o Options) *refusals {
	make := instrument.New("bullet_metrics_", prometheus.Labels{"port": o.Port})
	r := &refusals{log: o.Logger, now: o.Now, port: o.Port, said: map[string]time.Time{},
		total: make.Counters("refused_total", "Refused handshakes, requests and streams, by port and reason.", "reason")}
	make.Register(o.Registerer)
	for _, reason := range reasons {
		r.total.WithLabelValues(string(reason))
	}
	return r
}

// note counts a refusal, and logs it unless the limits are reached.
func (r *refusals) note(reason Reason, peer, detail string) {
	r.total.WithLabelValues(string(reason)).Inc()
	unsaid, ok := r.maySay(string(reason)+" "+quota.Address(peer), r.now())
	if ok {
		r.log.Warn("turned away", "port", r.port, "peer", peer, "reason", string(reason), "detail",
			detail[:min(len(detail), maxDetail)], "unsaid", unsaid)
	}
}

// maySay decides whether a refusal is logged. It returns how many were not logged since the last logged one.
func (r *refusals) maySay(key string, now time.Time) (unsaid int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.began).Abs() >= quietTime {
		r.began, r.lines = now, 0
	}
	last, before := r.said[key]
	if before && now.Sub(last).Abs() < quietTime || r.lines >= linesAQuiet {
		r.unsaid++
		return 0, false
	}
	if len(r.said) >= maxRemembered {
		clear(r.said)
	}
	r.said[key] = now
	r.lines++
	unsaid, r.unsaid = r.unsaid, 0
	return unsaid, true
}

// Handshake counts and logs a failed TLS handshake.
func (g *Guard) Handshake(peer string, err error) { g.HandshakeText(peer, err.Error()) }

// HandshakeText is like Handshake, for an error of which only the text is known.
func (g *Guard) HandshakeText(peer, text string) { g.refusals.note(handshakeReason(text), peer, text) }

// handshakeReason classifies an error by its text, because most errors of crypto/tls have no type and net/http passes
// on only the text.
func handshakeReason(text string) Reason {
	for _, known := range []struct {
		words  string
		reason Reason
	}{
		{"cannot determine who may enter", Closed},
		{"unsupported versions", HandshakeVersion}, {"protocol version not supported", HandshakeVersion},
		{"remote error: tls: bad certificate", HandshakeClient},
		{"remote error: tls: unknown certificate", HandshakeClient},
		{"remote error: tls: expired certificate", HandshakeClient},
		{"remote error: tls: unknown certificate authority", HandshakeClient},
		{"missing selected ALPN property", HandshakeHTTP1},
		{"certificate", HandshakeCertificate}, {"x509:", HandshakeCertificate}, {"allowed SANs", HandshakeCertificate},
		{"first record does not look like a TLS handshake", HandshakePlain},
		{"HTTP request to an HTTPS server", HandshakePlain},
		{"EOF", HandshakeCut}, {"timeout", HandshakeCut}, {"deadline exceeded", HandshakeCut},
		{"reset by peer", HandshakeCut}, {"broken pipe", HandshakeCut},
		{"closed network connection", HandshakeCut},
	} {
		if strings.Contains(text, known.words) {
			return known.reason
		}
	}
	return HandshakeOther
}

// certificateName returns the name of a certificate for logs.
func certificateName(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	names := certificateNames(c)
	return names[0]
}
