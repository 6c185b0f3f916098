package examine

import (
	"fmt"
	"os"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/yamlfile"
)

// Settings reads a file of settings, Bullet's or Storm's. What goes wrong is in its Err.
func Settings(path string) *doctor.Settings {
	s := &doctor.Settings{Path: path}
	text, err := os.ReadFile(path)
	if err == nil {
		if err = yamlfile.Decode(text, &s.Values); err != nil {
			err = fmt.Errorf("%s is no YAML of settings: %w", path, err)
		}
	}
	s.Err = err
	return s
}
