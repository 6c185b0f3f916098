package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// The collector answers to the name that its own alerts lead to.
func TestHosts(t *testing.T) {
	assert.Empty(t, hosts(config.HTTP{}))
	allowed := config.HTTP{AllowedHosts: []string{"a.example"}, ExternalURL: "https://metrics.example:9320/bullet"}
	assert.Equal(t, []string{"a.example", "metrics.example"}, hosts(allowed))
	assert.Equal(t, []string{"a.example"}, allowed.AllowedHosts)
}
