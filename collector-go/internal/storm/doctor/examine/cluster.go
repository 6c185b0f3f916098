package examine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Cluster queries Nimbus about a topology. If name is empty and Nimbus has exactly one topology, it is that one. An
// error is stored in Err, together with everything that was read before: the names of the other topologies help if the
// name is misspelt.
func Cluster(ctx context.Context, addresses []string, name string) *doctor.Cluster {
	c := &doctor.Cluster{Address: strings.Join(addresses, ", "), Topology: name}
	c.Err = askNimbus(ctx, addresses, c)
	return c
}

// askNimbus stores what Nimbus knows: the topologies, the consumers of the selected one, and the newest errors of its
// components. It omits killed topologies, which Nimbus lists for a while.
//
// Each error is reduced to one line with its cause, because a Java stack trace would fill the screen.
func askNimbus(ctx context.Context, addresses []string, c *doctor.Cluster) error {
	all, err := nimbus.Topologies(ctx, addresses)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Killed() {
			continue
		}
		c.Known = append(c.Known, t.Name)
		if t.Name == c.Topology || c.Topology == "" && len(all) == 1 {
			c.Topology, c.ID, c.Uptime = t.Name, t.ID, t.Uptime
		}
	}
	if c.ID == "" {
		return nil
	}
	conf, err := nimbus.Conf(ctx, addresses, c.ID)
	if err != nil {
		return err
	}
	consumers, _ := conf[plugininfo.Register].([]any)
	for _, consumer := range consumers {
		if entry, is := consumer.(map[string]any); is {
			c.Consumers = append(c.Consumers, fmt.Sprint(entry["class"]))
		}
	}
	errors, err := nimbus.Errors(ctx, addresses, c.ID)
	for _, e := range errors {
		first, _, _ := strings.Cut(e.Text, "\n")
		if cause := e.Cause(); cause != "" {
			first += ": " + cause
		}
		c.Errors = append(c.Errors, fmt.Sprintf("%s at %s: %s", e.Component, e.Time.UTC().Format(time.TimeOnly), first))
	}
	return err
}
