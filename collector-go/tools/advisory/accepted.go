package advisory

import (
	"fmt"
	"strings"
	"time"
)

// Accepted are vulnerabilities that somebody looked at and that change nothing for us, each until a day: then it is
// looked at again.
type Accepted map[string]time.Time

// ParseAccepted reads lines of an identifier, the last day (YYYY-MM-DD) and a reason, empty lines and those of # left
// out.
func ParseAccepted(text string) (Accepted, error) {
	accepted := Accepted{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: write an identifier, the last day (YYYY-MM-DD) and the reason", number)
		}
		until, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		accepted[fields[0]] = until
	}
	return accepted, nil
}

// At reports whether an identifier is accepted at a time.
func (a Accepted) At(id string, now time.Time) bool {
	until, found := a[id]
	return found && now.Before(until.AddDate(0, 0, 1))
}
