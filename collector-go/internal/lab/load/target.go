package load

import (
	"context"
	"sync/atomic"
)

// Target is where queries go: to DRPC servers in turn if there are any, otherwise to a gateway.
type Target struct {
	// Gateway is "host:port" or a URL.
	Gateway string `json:"gateway,omitempty"`
	// DRPC lists the HTTP ports of Storm's DRPC servers; Function is the DRPC function.
	DRPC     []string `json:"drpc,omitempty"`
	Function string   `json:"function,omitempty"`
}

// Open returns a Submitter for the target and a function that closes it. The Submitter keeps up to the given number of
// connections.
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

// inTurn submits queries to its servers in turn.
type inTurn struct {
	servers []*DRPC
	asked   atomic.Int64
}

// Query implements Submitter.
func (t *inTurn) Query(ctx context.Context, bql string) (Answer, error) {
	return t.servers[(t.asked.Add(1)-1)%int64(len(t.servers))].Query(ctx, bql)
}
