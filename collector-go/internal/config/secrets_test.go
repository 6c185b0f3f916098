package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSecretsAreHidden(t *testing.T) {
	s := Config{Stores: map[string]map[string]*Store{"remote_write": {"a": {URL: "http://m/"},
		"b": {URL: "http://m/?token=a%2Fsecret&db=1"}}}}.Secrets()
	assert.Equal(t, "Post \"http://m/?(hidden)\": refused", s.Hide(`Post "http://m/?token=a%2Fsecret&db=1": refused`))
	assert.Equal(t, "http://m/write?db=1&token=(hidden) and (hidden)",
		s.Hide("http://m/write?db=1&token=a%2Fsecret and a/secret"))
	plain := fmt.Errorf("x: %w", io.EOF)
	assert.ErrorIs(t, s.HideError(plain), io.EOF)
	assert.EqualError(t, s.HideError(errors.New("of a/secret")), "of (hidden)")
	assert.NoError(t, s.HideError(nil))

	var text bytes.Buffer
	s.Logger(slog.New(slog.NewTextHandler(&text, nil))).With("with", "a/secret").WithGroup("g").Info("of a/secret",
		"error", errors.New("in a/secret"), "n", 1, slog.Group("h", "deep", "a/secret"))
	assert.NotContains(t, text.String(), "secret")
	assert.Contains(t, text.String(), `msg="of (hidden)" with=(hidden) g.error="in (hidden)" g.n=1 g.h.deep=(hidden)`)
}
