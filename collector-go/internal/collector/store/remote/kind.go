package remote

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"

// The kind's name is part of the settings' keys, store.remote_write.NAME.url, so it must never change.
func init() {
	forward.Register(forward.Kind{
		Name:     "remote_write",
		Address:  "a receiver of Prometheus remote write, such as http://localhost:9090/api/v1/write",
		Receiver: "the receiver",
		Settings: []forward.Setting{
			{Name: "histograms",
				Usage:   "format of histograms: native, or classic for receivers without native histograms; native if not set",
				Choices: []string{"native", "classic"}},
		},
		Build: func(at forward.Receiver, own map[string]string) forward.Builder {
			return Options{Receiver: at, Classic: own["histograms"] == "classic"}
		},
	})
}

// Protocol implements forward.Builder.
func (o Options) Protocol() (forward.Protocol, error) { return New(o) }
