package access

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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
	r := &refusals{log: o.Logger, now: o.Now, port: o.Port, said: map[string]time.Time{},
		total: promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name:        "bullet_metrics_refused_total",
			Help:        "Refused handshakes, requests and streams, by port and reason.",
			ConstLabels: prometheus.Labels{"port": o.Port},
		}, []string{"reason"})}
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
