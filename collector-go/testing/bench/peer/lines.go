package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// lineSender sends Influx lines, as TSBS does, over a connection of its own.
type lineSender struct {
	url    string
	client *http.Client
	heads  map[int][]byte // what precedes a host's values
	body   []byte
}

func newLineSender(url string) *lineSender {
	return &lineSender{url: url,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}},
		heads:  map[int][]byte{}}
}

// column is a metric's field in a line.
func column(metric int) string { return strings.TrimPrefix(bench.Field(metric), "cpu.") }

// head is a host's name and tags.
func (s *lineSender) head(host int) []byte {
	h, known := s.heads[host]
	if !known {
		h = fmt.Appendf(nil, "cpu,hostname=host_%d,%s ", host, bench.Tags(host))
		s.heads[host] = h
	}
	return h
}

// Send implements Sender.
func (s *lineSender) Send(ctx context.Context, rows Rows) error {
	s.body = s.body[:0]
	for i := 0; i < len(rows.Values); i += rows.Metrics {
		s.body = append(s.body, s.head(rows.First+i/rows.Metrics)...)
		for metric, v := range rows.Values[i : i+rows.Metrics] {
			if metric > 0 {
				s.body = append(s.body, ',')
			}
			s.body = append(append(s.body, column(metric)...), '=')
			s.body = strconv.AppendFloat(s.body, v, 'g', -1, 64)
		}
		s.body = strconv.AppendInt(append(s.body, ' '), rows.TimeMs, 10)
		s.body = append(s.body, "000000\n"...)
	}
	return Post(ctx, s.client, s.url, "text/plain", nil, s.body)
}

// Close implements Sender.
func (s *lineSender) Close() { s.client.CloseIdleConnections() }

// Post sends a request, which must succeed.
func Post(ctx context.Context, client *http.Client, url, content string, header map[string]string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", content)
	for name, v := range header {
		request.Header.Set(name, v)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %.300s", url, response.Status, answer)
	}
	return err
}
