package load

import (
	"context"
	"sync/atomic"
)

// Target is where queries go: DRPC servers in turn, or else a gateway.
type Target struct {
	// Gateway is "host:port" or a URL.
	Gateway string `json:"gateway,omitempty"`
	// DRPC are the HTTP ports of Storm's DRPC servers, Function what they are asked for.
	DRPC     []string `json:"drpc,omitempty"`
	Function string   `json:"function,omitempty"`
}

// Open returns what asks the target, of which up to connections queries share the connections, and what closes it.
func (t Target) Open(connections int) (Submitter, func()) {
	if len(t.DRPC) == 0 {
		gateway := NewGateway(t.Gateway, connections)
		return gateway, gateway.Close
	}
	turns := &inTurn{}
	for _, server := range t.DRPC {
		turns.servers = append(turns.servers, NewDRPC(server, t.Function, connections, PlainBQL))
	}
	return turns, func() {
		for _, server := range turns.servers {
			server.Close()
		}
	}
}

// inTurn asks one server after the other.
type inTurn struct {
	servers []*DRPC
	asked   atomic.Int64
}

// Query implements Submitter.
func (t *inTurn) Query(ctx context.Context, bql string) (Answer, error) {
	return t.servers[(t.asked.Add(1)-1)%int64(len(t.servers))].Query(ctx, bql)
}
