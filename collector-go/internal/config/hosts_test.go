package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The collector answers to the name that its own alerts lead to.
func TestHosts(t *testing.T) {
	assert.Empty(t, HTTP{}.Hosts())
	allowed := HTTP{AllowedHosts: []string{"a.example"}, ExternalURL: "https://metrics.example:9320/bullet"}
	assert.Equal(t, []string{"a.example", "metrics.example"}, allowed.Hosts())
	assert.Equal(t, []string{"a.example"}, allowed.AllowedHosts)
}
