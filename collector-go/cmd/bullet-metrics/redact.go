package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// secrets are texts that are not to be said: what comes after the question mark in a store's URL, such as ?token=.
// Libraries put URLs into their errors, and errors are logged. The user and password of any URL are hidden too.
type secrets []string

// hidden stands where a secret was.
const hidden = "(hidden)"

// secretsOf are those of the settings.
func secretsOf(c config.Config) (all secrets) {
	for _, kind := range c.Stores {
		for _, store := range kind {
			all = append(all, queryOf(store.URL)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a whole before its parts
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

func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return address.Hide(text)
}

// hideError is an error without secrets; one that has none keeps what it wraps.
func (s secrets) hideError(err error) error {
	if err == nil || s.hide(err.Error()) == err.Error() {
		return err
	}
	return errors.New(s.hide(err.Error()))
}

// logger logs as l does, without secrets.
func (s secrets) logger(l *slog.Logger) *slog.Logger {
	return slog.New(redacting{l.Handler(), s})
}

type redacting struct {
	slog.Handler
	secrets secrets
}

// Handle implements slog.Handler.
func (r redacting) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, r.secrets.hide(record.Message), record.PC)
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
		a.Value = slog.StringValue(r.secrets.hide(v.String()))
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); r.secrets.hide(text) != text {
			a.Value = slog.StringValue(r.secrets.hide(text))
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
