package forward

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// Receiver holds the address of a store and how the collector identifies itself to it.
type Receiver struct {
	URL string
	// HTTP has the settings for TLS, credentials and headers. Secrets in files are read again when the files change.
	// Redirects are never followed, whatever the setting says.
	HTTP config.HTTPClientConfig
}

// Validate returns an error that names what is invalid.
func (r Receiver) Validate() error {
	_, err := address.URL(r.URL).Parse(address.Form{Example: "http://localhost:9090/api/v1/write", Secrets: "http_config_file",
		Query: true})
	if err != nil {
		return fmt.Errorf("url %w", err)
	}
	return r.HTTP.Validate()
}

// Client returns an HTTP client for the receiver. It connects to no other address, so credentials cannot leak through a
// redirect.
func (r Receiver) Client() (*http.Client, error) {
	client, err := httpclient.New(httpclient.Options{Access: &r.HTTP})
	if err != nil {
		return nil, fmt.Errorf("prepare to call %s: %w", address.URL(r.URL), err)
	}
	return client, nil
}

// maxAnswer limits how many bytes of an answer are read. The status decides what happens, and the text is only for the
// log.
const maxAnswer = 4 << 10

// Post sends a body in one HTTP request and converts the receiver's answer to an error, as Answer does. An error of the
// connection is returned unchanged, so that the body is sent again.
func Post(ctx context.Context, client *http.Client, url string, body []byte, header map[string]string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return Answer(response.StatusCode, response.Header, string(text), time.Now())
}

// Kind describes a kind of store on the network: the names and help texts of its settings, and how a protocol is made
// from them. The configuration derives its settings from the registered kinds and validates them with Build. Adding a
// kind therefore only changes its own package and the import that registers it.
type Kind struct {
	// Name is part of the settings' keys, as in store.KIND.NAME.url.
	Name string
	// Address says, with an example, what the setting url is the address of. Receiver names whom http_config_file is
	// for.
	Address, Receiver string
	// Settings are the kind's own settings, in addition to those that all kinds have.
	Settings []Setting
	// Build makes the protocol's options from the store's address and those of the kind's own settings that are set, by
	// name.
	Build func(at Receiver, own map[string]string) Builder
}

// Setting is one of a kind's own settings. If there are Choices, the first one is the default.
type Setting struct {
	Name, Usage string
	Choices     []string
}

// Builder holds a protocol's options. Validate is called when the configuration is read, and Protocol when the store is
// opened.
type Builder interface {
	// Validate returns an error that begins with the name of the setting to change.
	Validate() error
	// Protocol makes the protocol. It does not connect.
	Protocol() (Protocol, error)
}

var kinds []Kind

// Register registers a kind. Packages call it from init, before the settings are read. It is not safe for concurrent
// use.
func Register(k Kind) { kinds = append(kinds, k) }

// Kinds returns the registered kinds, sorted by name.
func Kinds() []Kind {
	return slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
}
