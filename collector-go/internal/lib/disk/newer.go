package disk

import (
	"errors"
	"fmt"
)

// ErrNewer means that a newer version of the program wrote a file. That is no damage: its reader changes nothing
// and names the file, since the newer program can read what is there.
var ErrNewer = errors.New("a newer version of bullet-metrics wrote it")

// CheckVersion returns an ErrNewer where a file's version is greater than the newest that this program knows.
func CheckVersion(version, known uint64) error {
	if version <= known {
		return nil
	}
	return fmt.Errorf("%w: its format version is %d, this program knows up to %d: run the newer program", ErrNewer, version,
		known)
}
