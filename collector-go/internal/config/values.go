package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Clone is a copy that shares nothing which reading a file changes.
func (c Config) Clone() Config {
	stores := noStores()
	for kind, all := range c.Stores {
		for name, store := range all {
			one := *store
			one.Own = maps.Clone(store.Own)
			stores[kind][name] = &one
		}
	}
	c.Stores = stores
	return c
}

// Values are all settings by their keys, as text. A store's keys have its name.
func (c Config) Values() map[string]string {
	copied := c.Clone()
	all := map[string]string{}
	for _, s := range Settings(&copied) {
		each, several := s.value.(namedValue)
		if !several {
			all[s.Key] = s.value.String()
			continue
		}
		for name := range c.Stores[strings.Split(s.Key, ".")[1]] {
			all[strings.Replace(s.Key, anyName, name, 1)] = each.field(name).String()
		}
	}
	return all
}

// FileValues are Values with the contents of the http_config_files. These files are read only at the start, so a reload
// must notice when they change.
func (c Config) FileValues() map[string]string {
	all := c.Values()
	for key, path := range all {
		if strings.HasSuffix(key, ".http_config_file") && path != "" {
			text, _ := textfile.Read(path, textfile.Most) // an unreadable file fails the check of the settings
			all[key] += "\x00" + string(text)
		}
	}
	return all
}

// reloadable are the settings that a reload applies. Access files are read again under the names that they had at the
// start.
var reloadable = []string{"rules.builtin", "rules.files"}

// NeedRestart returns the keys of the settings that differ and that a reload does not apply.
func NeedRestart(before, after map[string]string) (keys []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if before[key] != after[key] && !slices.Contains(reloadable, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Public returns the settings that say when a sample can be queried, for how long, what a plugin must set to send
// samples, and where the page links to. listening is the address of the gRPC port.
func (c Config) Public(listening string) map[string]string {
	all := map[string]string{
		"grpc.listen": c.senderAddress(listening), "grpc.tls": strconv.FormatBool(c.GRPC.TLSCertFile != ""),
		"grpc.client_certificate": strconv.FormatBool(c.GRPC.ClientCAFile != ""),
		"grpc.token":              strconv.FormatBool(c.GRPC.TokenFile != ""),
	}
	for _, s := range Settings(&c) {
		if strings.HasPrefix(s.Key, "slice.") || strings.HasPrefix(s.Key, "store.embedded.") ||
			strings.HasPrefix(s.Key, "journal.") || s.Key == "rules.interval" || s.Key == "http.grafana_url" {
			all[s.Key] = s.Default()
		}
	}
	return all
}

// senderAddress returns the address at which senders reach the gRPC port. A host name in grpc.listen is kept, because
// the certificate has the name and not the IP address. If the port listens on every interface, the host is that of
// http.external_url, if set.
func (c Config) senderAddress(listening string) string {
	host, port := address.HostPort(listening).Split()
	given, _ := address.HostPort(c.GRPC.Listen).Split()
	external, err := url.Parse(c.HTTP.ExternalURL)
	if given != "" && net.ParseIP(given) == nil {
		host = given
	} else if net.ParseIP(host).IsUnspecified() && err == nil && external.Hostname() != "" {
		host = external.Hostname()
	}
	return net.JoinHostPort(host, port)
}

// Retention formats the retention of the store as Prometheus' runtime info does.
func (e Embedded) Retention() string {
	var bounds []string
	if e.RetentionTime > 0 {
		bounds = append(bounds, model.Duration(e.RetentionTime).String())
	}
	if e.RetentionBytes > 0 {
		bounds = append(bounds, fmt.Sprintf("%d bytes", e.RetentionBytes))
	}
	return strings.Join(bounds, " or ")
}

// Hosts returns the host names by which browsers may call the collector: the allowed hosts, and the host of the
// external URL, to which alerts link.
func (h HTTP) Hosts() []string {
	all := h.AllowedHosts
	if u, err := url.Parse(h.ExternalURL); err == nil && u.Hostname() != "" {
		all = append(all[:len(all):len(all)], u.Hostname())
	}
	return all
}

// External returns the URL under which users reach the collector, and to which alerts link. encrypted states whether
// the port uses TLS.
func (h HTTP) External(encrypted bool) (*url.URL, error) {
	external := h.ExternalURL
	external = cmp.Or(external, map[bool]string{false: "http://", true: "https://"}[encrypted]+h.Listen)
	u, err := url.Parse(external)
	if err != nil {
		return nil, fmt.Errorf("http.external_url: %w", err)
	}
	return u, nil
}

// delivery is how long a closed slice may take to arrive in a network store and in the answers of its engine.
const delivery = 5 * time.Second

// QueryOffset returns how far behind the clock all slices of a topology with a sole sender can be queried: the
// journal's tick, the width and lateness of a slice, and the delivery to a network store.
func (c Config) QueryOffset() time.Duration {
	offset := time.Second + c.Slice.Width + min(c.Slice.Lateness, c.Slice.LatenessSole)
	if c.Query.URL != "" {
		offset += delivery
	}
	return offset
}
