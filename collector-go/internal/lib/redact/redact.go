// Package redact keeps secrets out of logs and errors: values in the query of a URL, such as ?token=, and the user and
// password of any URL. Libraries put URLs into their errors, and errors are logged. It does not know which settings
// hold secrets.
package redact

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

// Secrets are texts that must not be printed.
type Secrets []string

// Hidden replaces a secret.
const Hidden = "(hidden)"

// Of returns the secrets in the queries of URLs.
func Of(urls ...string) (all Secrets) {
	for _, url := range urls {
		all = append(all, queryOf(url)...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a whole query before its parts
	return slices.Compact(all)
}

// leastSecret keeps "1" and "true" from being hidden in every number and sentence.
const leastSecret = 5

// queryOf is a URL's query, and its values as they are written and as they are meant.
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
		text = strings.ReplaceAll(text, secret, Hidden)
	}
	return address.Hide(text)
}

// HideError returns an error without secrets. An error that has none is returned as it is, so that it keeps what it
// wraps.
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
