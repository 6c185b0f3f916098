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
)

// Encode returns the argument of a DRPC call for a query's text.
type Encode func(ctx context.Context, bql string) (string, error)

// PlainBQL returns the text unchanged, which is what the DRPC PubSub of our topology expects. Bullet's own PubSub
// expects a PubSubMessage, which another Encode must make.
func PlainBQL(_ context.Context, bql string) (string, error) { return bql, nil }

// DRPC queries a topology through Storm's DRPC server over HTTP: POST /drpc/FUNCTION with the query as its body. A
// call blocks a thread of the server's HTTP port until it is answered. It is safe for concurrent use.
type DRPC struct {
	gateway Gateway
	path    string
	encode  Encode
}

// NewDRPC returns a client of the DRPC server whose HTTP port is at address, "host:port" or a URL. It keeps up to the
// given number of connections.
func NewDRPC(address, function string, connections int, encode Encode) *DRPC {
	// Storm's DRPC server labels every answer text/html, so the body decides whether it is an answer of Bullet.
	return &DRPC{gateway: *newGateway(address, connections, true), path: "/drpc/" + url.PathEscape(function), encode: encode}
}

// Close closes idle connections.
func (d *DRPC) Close() { d.gateway.Close() }

// Query implements Submitter.
func (d *DRPC) Query(ctx context.Context, bql string) (Answer, error) {
	argument, err := d.encode(ctx, bql)
	if err != nil {
		return Answer{}, err
	}
	text, err := d.gateway.exchange(ctx, http.MethodPost, d.path, "text/plain", strings.NewReader(argument))
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
