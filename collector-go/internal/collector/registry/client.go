package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// clientKey identifies a client, such as the canary, that measures a topology from outside (see producer.external).
type clientKey struct {
	topology string
	place
}

// client records when a client was last heard and whether it ended. The alert about missing clients needs this, because
// a client that announced its end is not missing. Times are by the collector's clock, in ms since the Unix epoch.
type client struct {
	heardMs   int64
	stoppedMs int64 // when it announced its end; 0 if it was heard since
}

// mostClients limits the number of clients of all topologies. At the limit, the client that was heard longest ago is
// forgotten.
const mostClients = 1_024

// hearClient records that a client is alive, or that it announced its end.
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

// clientKeys returns the keys of all clients in a fixed order.
func (s *state) clientKeys() []clientKey {
	return slices.SortedFunc(maps.Keys(s.clients), compareClients)
}

func compareClients(a, b clientKey) int {
	return cmp.Or(strings.Compare(a.topology, b.topology), comparePlaces(a.place, b.place))
}
