package examine

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/nesting"
)

// Settings reads a file of settings, Bullet's or Storm's. What goes wrong is in its Err.
func Settings(path string) *doctor.Settings {
	s := &doctor.Settings{Path: path}
	text, err := os.ReadFile(path)
	if err == nil {
		if err = nesting.Check(text); err == nil {
			err = yaml.Unmarshal(text, &s.Values)
		}
		if err != nil {
			err = fmt.Errorf("%s is no YAML of settings: %w", path, err)
		}
	}
	s.Err = err
	return s
}
