package goal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// File is what bench.json holds.
type File struct {
	Goals []Goal `json:"goals"`
	// Machine is what it ran on, Versions what was measured, by name, Settings what was asked for.
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings Settings          `json:"settings"`
	// Raised are limits and settings of servers that are not their defaults, Durability what each promises by default.
	Raised     []string          `json:"raised"`
	Durability map[string]string `json:"durability"`
	// Complete states that all pieces were tried: the next run begins again.
	Complete bool      `json:"complete"`
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended"`
	// BusySeconds is the time of all pieces together.
	BusySeconds float64 `json:"busy_seconds"`
	Pieces      Pieces  `json:"pieces"`
}

// Machine is what was measured on.
type Machine struct {
	CPUModel    string `json:"cpu_model"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
}

// Settings are what a run was asked for; figures of other settings are not put together.
type Settings struct {
	Quick  bool    `json:"quick"`
	Scale  float64 `json:"scale"`
	Rounds int     `json:"rounds"`
	Seed   uint64  `json:"seed"`
}

// Read reads a file; ok is false where there is none.
func Read(path string) (f *File, ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	f = &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, false, fmt.Errorf("%s: %w; delete it to begin again", path, err)
	}
	return f, true, nil
}

// GoesOn reports whether a run may go on with what an earlier one measured; else why not.
func (f *File) GoesOn(earlier *File) (why string) {
	switch {
	case earlier.Settings != f.Settings:
		return "it has other settings"
	case earlier.Machine != f.Machine:
		return "it is of another machine"
	case !maps.Equal(earlier.Versions, f.Versions):
		return "other versions were measured"
	}
	return ""
}

// Add adds a piece and judges again.
func (f *File) Add(p Piece) {
	f.Pieces = f.Pieces.Put(p)
	f.BusySeconds = 0
	for _, p := range f.Pieces {
		f.BusySeconds += p.Seconds
	}
	f.Goals = Judge(f.Pieces)
}

// Write writes the file, whole or not at all.
func (f *File) Write(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	aside := path + ".new"
	if err := os.WriteFile(aside, append(text, '\n'), 0o640); err != nil {
		return err
	}
	return os.Rename(aside, path)
}
