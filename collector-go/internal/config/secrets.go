package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// Secrets are texts that must not be printed: values in the query of a URL, such as ?token=. Its methods remove them,
// and the user and password of any URL, from logs and errors. This is necessary because libraries put URLs into their
// errors, and errors are logged.
type Secrets []string

// hidden replaces a secret.
const hidden = "(hidden)"

// Secrets returns the secrets of the settings: the queries of the stores' URLs.
func (c Config) Secrets() (all Secrets) {
	for _, kind := range c.Stores {
		for _, store := range kind {
			all = append(all, queryOf(store.URL)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a complete query before its parts
	return slices.Compact(all)
}

// leastSecret is the minimum length of a secret. Without it, "1" and "true" would be hidden everywhere.
const leastSecret = 5

// queryOf returns a URL's query, and its values in escaped and unescaped form.
func queryOf(address string) (all []string) {
	_, query, found := strings.Cut(address, "?")
	if !found || query == "" {
		return nil
	}
	all = append(all, query)
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		meant, err := url.QueryUnescape(value)
		if err != nil {
			meant = value
		}
		for _, text := range []string{value, meant, url.QueryEscape(meant)} {
			if len(text) >= leastSecret {
				all = append(all, text)
			}
		}
	}
	return all
}

// Hide replaces the secrets in a text, and the user and password of any URL in it.
func (s Secrets) Hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return address.Hide(text)
}

// HideError returns an error without secrets. If the error has none, it is returned unchanged, so that errors.Is and
// errors.As still work.
func (s Secrets) HideError(err error) error {
	if err == nil || s.Hide(err.Error()) == err.Error() {
		return err
	}
	return errors.New(s.Hide(err.Error()))
}

// Logger returns a logger that hides secrets in messages and attributes before l receives them.
func (s Secrets) Logger(l *slog.Logger) *slog.Logger {
	return slog.New(redacting{l.Handler(), s})
}

type redacting struct {
	slog.Handler
	secrets Secrets
}

// Handle implements slog.Handler.
func (r redacting) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, r.secrets.Hide(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(r.attribute(a))
		return true
	})
	return r.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (r redacting) WithAttrs(attributes []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attributes))
	for i, a := range attributes {
		clean[i] = r.attribute(a)
	}
	return redacting{r.Handler.WithAttrs(clean), r.secrets}
}

// WithGroup implements slog.Handler.
func (r redacting) WithGroup(name string) slog.Handler {
	return redacting{r.Handler.WithGroup(name), r.secrets}
}

func (r redacting) attribute(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.secrets.Hide(v.String()))
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); r.secrets.Hide(text) != text {
			a.Value = slog.StringValue(r.secrets.Hide(text))
		}
	case slog.KindGroup:
		var clean []slog.Attr
		for _, inner := range v.Group() {
			clean = append(clean, r.attribute(inner))
		}
		a.Value = slog.GroupValue(clean...)
	}
	return a
}
