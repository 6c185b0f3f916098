package main

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/redact"
)

// secretsOf returns the secrets of the settings: what the URLs of stores have after their question mark.
func secretsOf(c config.Config) redact.Secrets {
	var urls []string
	for _, kind := range c.Stores {
		for _, store := range kind {
			urls = append(urls, store.URL)
		}
	}
	return redact.Of(urls...)
}
