package disk

import (
	"errors"
	"fmt"
)

// ErrNewer means that a newer version of the program wrote a file. That is no damage: whoever meets it changes nothing
// and names the file, since the newer program can read what is there.
var ErrNewer = errors.New("a newer version of bullet-metrics wrote it")

// Newer is an ErrNewer that names the version of the format and the newest that this program knows.
func Newer(version, known uint64) error {
	return fmt.Errorf("%w: it has format version %d, this program knows up to %d: run the newer program", ErrNewer, version,
		known)
}
