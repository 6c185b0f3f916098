package experimentfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// hostPlaceholder stands for a load host in the command that starts its client.
const hostPlaceholder = "{host}"

// maxLoadHosts bounds the hosts of load clients.
const maxLoadHosts = 100

// loadHosts checks the hosts of the load clients. A host that begins with a hyphen is refused, because ssh would take
// it for an option.
func (c *checker) loadHosts(l LoadHosts) {
	if c.file.Launch.Local != nil {
		c.fault("launch.load", "the gateway of a local launch is for this machine; leave it out, or launch by a command")
	}
	if c.file.Steps.Kind == string(runstore.TimelineStep) {
		c.fault("launch.load", "a timeline asks one query after the other, by one clock; leave it out")
	}
	if len(l.Command) == 0 {
		c.fault("launch.load.command",
			"it is missing; write the command as a list of its words, such as [ssh, \"{host}\", bullet-metrics, load, client]")
	} else if !strings.Contains(strings.Join(l.Command, " "), hostPlaceholder) {
		c.fault("launch.load.command", "it does not say {host}: all clients would run on one host")
	}
	c.placeholders("launch.load.command", l.Command, hostPlaceholder)
	if len(l.Hosts) == 0 || len(l.Hosts) > maxLoadHosts {
		c.fault("launch.load.hosts", "%d hosts are listed; give 1 to %d, a load client is started on each", len(l.Hosts),
			maxLoadHosts)
	}
	for i, host := range l.Hosts {
		field := fmt.Sprintf("launch.load.hosts[%d]", i)
		switch {
		case host == "" || strings.HasPrefix(host, "-"):
			c.fault(field, "%q is not a host", host)
		case slices.Contains(l.Hosts[:i], host):
			c.fault(field, "%q is there twice: a host has one load client", host)
		}
	}
}
