package load

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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
	drpc := func(server string) *DRPC { return NewDRPC(server, t.Function, connections) }
	turns := &inTurn{servers: tuning.Each(t.DRPC, drpc)}
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

// DRPC queries a topology through Storm's DRPC server over HTTP: POST /drpc/FUNCTION with the query as its body. A
// call blocks a thread of the server's HTTP port until it is answered. It is safe for concurrent use.
type DRPC struct {
	gateway Gateway
	path    string
}

// NewDRPC returns a client of the DRPC server whose HTTP port is at address, "host:port" or a URL. It keeps up to the
// given number of connections.
func NewDRPC(address, function string, connections int) *DRPC {
	// Storm's DRPC server labels every answer text/html, so the body decides whether it is an answer of Bullet.
	return &DRPC{gateway: *newGateway(address, connections, true), path: "/drpc/" + url.PathEscape(function)}
}

// Close closes idle connections.
func (d *DRPC) Close() { d.gateway.Close() }

// Query implements Submitter. The argument of the call is the BQL itself, which is what the DRPC PubSub of our topology
// expects. Bullet's own PubSub expects a PubSubMessage.
func (d *DRPC) Query(ctx context.Context, bql string) (Answer, error) {
	text, err := d.gateway.exchange(ctx, http.MethodPost, d.path, "text/plain", strings.NewReader(bql))
	if err != nil {
		return Answer{}, err
	}
	return drpcAnswer(text)
}

// drpcAnswer parses the result of a DRPC call: Bullet's PubSubMessage (com.yahoo.bullet.pubsub) that contains the
// answer, or the answer itself.
func drpcAnswer(text []byte) (Answer, error) {
	fields, err := object(text)
	if err != nil || fields["id"] == nil || fields["content"] == nil {
		return parseAnswer(text)
	}
	var message struct {
		Content  string `json:"content"`
		Metadata struct {
			Signal string `json:"signal"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return Answer{}, notBullets(text, "it is no message of Bullet's PubSub")
	}
	content, err := contentOf(message.Content)
	if err != nil {
		return Answer{}, notBullets(text, "its content: "+err.Error())
	}
	answer, err := parseAnswer(content)
	if err == nil && message.Metadata.Signal == "FAIL" {
		err = &AnswerError{Words: fmt.Sprintf("the topology failed the query: %.500s", answer.Meta)}
	}
	return answer, err
}

// contentOf returns the text in a message. It is plain text, or a serialized java.lang.String in base64, as Bullet
// writes it.
func contentOf(content string) ([]byte, error) {
	if strings.HasPrefix(content, "{") {
		return []byte(content), nil
	}
	serialized, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil, err
	}
	return javaString(serialized)
}

// Java's serialization of a string: a header, a type code, the length in bytes, and modified UTF-8. That differs from
// UTF-8 only for NUL and for characters outside the basic plane, which JSON does not need. Source: Java Object
// Serialization Specification, 6.4.2.
const (
	javaHeader     = "\xac\xed\x00\x05"
	javaText       = 0x74
	javaLongText   = 0x7c
	javaTextLength = 2
	javaLongLength = 8
)

func javaString(serialized []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(serialized, []byte(javaHeader))
	if !ok || len(rest) == 0 {
		return nil, errors.New("not a serialized Java object")
	}
	var length uint64
	kind, rest := rest[0], rest[1:]
	switch {
	case kind == javaText && len(rest) >= javaTextLength:
		length, rest = uint64(binary.BigEndian.Uint16(rest)), rest[javaTextLength:]
	case kind == javaLongText && len(rest) >= javaLongLength:
		length, rest = binary.BigEndian.Uint64(rest), rest[javaLongLength:]
	default:
		return nil, errors.New("not a serialized Java string")
	}
	if length != uint64(len(rest)) {
		return nil, fmt.Errorf("it has %d bytes, but its length field says %d", len(rest), length)
	}
	return rest, nil
}
