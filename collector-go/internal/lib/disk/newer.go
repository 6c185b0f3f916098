package disk

import (
	"errors"
	"fmt"
)

// ErrNewer means that a newer version of the program wrote a file. The file is not damaged: its reader must leave it
// unchanged and name it in the error, because the newer program can read it.
var ErrNewer = errors.New("a newer version of bullet-metrics wrote it")

// CheckVersion returns an ErrNewer if a file's version is greater than the newest known one.
func CheckVersion(version, known uint64) error {
	if version <= known {
		return nil
	}
	return fmt.Errorf("%w: its format version is %d, but this program supports up to %d: run the newer release", ErrNewer, version,
		known)
}
