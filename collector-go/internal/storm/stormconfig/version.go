package stormconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of Storm or Bullet. Without a patch number it means the newest of its series.
type Version struct {
	major, minor, patch int
	text                string
}

// newest is the patch number of a version without one.
const newest = 1 << 30

// ParseVersion parses "2.8.3" or "2.8".
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return Version{}, fmt.Errorf("%q is not a version; use a form such as 2.8.3 or 2.8", text)
	}
	numbers := [3]int{2: newest}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version; use a form such as 2.8.3 or 2.8", text)
		}
		numbers[i] = int(n)
	}
	return Version{major: numbers[0], minor: numbers[1], patch: numbers[2], text: text}, nil
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// from reports whether v is major.minor.patch or later.
func (v Version) from(major, minor, patch int) bool {
	switch {
	case v.major != major:
		return v.major > major
	case v.minor != minor:
		return v.minor > minor
	}
	return v.patch >= patch
}
