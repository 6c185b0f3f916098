package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// clientKey is a client, such as the canary, that measures a topology from outside (see producer.external).
type clientKey struct {
	topology string
	place
}

// client is what the registry knows of a client. An alert about a missing client needs it: one that said that it ends
// is not missed. Times are by the collector's clock, ms since the Unix epoch.
type client struct {
	heardMs   int64
	stoppedMs int64 // when it said that it ends; 0 where something was heard since
}

// mostClients bounds the clients of all topologies; the one that was heard longest ago makes room.
const mostClients = 1_024

// hearClient notes that a client is alive, or that it said that it ends.
func (s *state) hearClient(p *producer, closing bool) {
	key := clientKey{p.Topology, place{p.Host, p.Port}}
	c := s.clients[key]
	if c == nil {
		if len(s.clients) == mostClients {
			oldest := slices.MinFunc(s.clientKeys(), func(a, b clientKey) int {
				return cmp.Compare(s.clients[a].heardMs, s.clients[b].heardMs)
			})
			delete(s.clients, oldest)
			s.drop("clients", 1)
		}
		c = &client{}
		s.clients[key] = c
	}
	c.heardMs, c.stoppedMs = s.clockMs, 0
	if closing {
		c.stoppedMs = s.clockMs
	}
}

// clientKeys are the clients in a fixed order.
func (s *state) clientKeys() []clientKey {
	return slices.SortedFunc(maps.Keys(s.clients), func(a, b clientKey) int {
		return cmp.Or(strings.Compare(a.topology, b.topology), comparePlaces(a.place, b.place))
	})
}
