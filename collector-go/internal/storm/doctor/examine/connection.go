package examine

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// Connection examines from this machine what the settings refer to: files, and servers at the plugin's addresses.
// Without readable settings both results are nil.
//
// All addresses are examined concurrently, because one behind a firewall takes its whole timeout. Workers may be in
// another network; the findings say from where the addresses were examined.
func Connection(ctx context.Context, settings *doctor.Settings) (ports []doctor.Port, unreadable map[string]string) {
	if settings == nil || settings.Err != nil {
		return nil, nil
	}
	facts := doctor.Facts{Settings: settings}
	unreadable = map[string]string{}
	for _, name := range []string{"tls.ca.file", "tls.cert.file", "tls.key.file", "token.file"} {
		if path := facts.PluginText(name); path != "" {
			if f, err := os.Open(path); err != nil {
				unreadable[name] = err.Error()
			} else {
				_ = f.Close()
			}
		}
	}
	addresses := facts.Addresses()
	ports = make([]doctor.Port, len(addresses))
	var looking sync.WaitGroup
	for i, address := range addresses {
		looking.Go(func() {
			ports[i] = Port(ctx, address, facts.PluginText("tls.ca.file"))
			ports[i].Refused = refused(ctx, facts, ports[i])
		})
	}
	looking.Wait()
	return ports, unreadable
}

// refused returns why a port refuses the plugin's token or certificate. It asks only a port that the plugin would send
// them to.
func refused(ctx context.Context, f doctor.Facts, p doctor.Port) string {
	t := sender.TLS{Enabled: strings.EqualFold(f.PluginText("tls.enabled"), "true"), CA: f.PluginText("tls.ca.file"),
		Cert: f.PluginText("tls.cert.file"), Key: f.PluginText("tls.key.file")}
	agreed := doctor.PlainGRPC
	if t.Enabled {
		agreed = doctor.TLSGRPC
	}
	token := f.PluginText("token.file")
	if p.Protocol != agreed || p.Untrusted != "" {
		return ""
	}
	return sender.Refused(ctx, p.WithPort, token, t)
}
