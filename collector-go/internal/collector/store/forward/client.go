package forward

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
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
