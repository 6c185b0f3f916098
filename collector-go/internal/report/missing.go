package report

import (
	"fmt"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// missing says of steps that were OK that records are missing all the same: their goals allow it, or none asks for them.
func (r *Report) missing() (out []string) {
	for _, s := range r.Steps {
		c := s.Clients
		if s.Verdict != tuning.OK || c.MissingRecords == 0 || c.DueRecords == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("%s: OK by its goals, although %s of the %s records due to its queries are missing (completeness %s).", stepName(s),
			tuning.Grouped(strconv.Itoa(c.MissingRecords)), tuning.Grouped(strconv.Itoa(c.DueRecords)), completenessText(c)))
	}
	return out
}

// completenessText never rounds a missing record away.
func completenessText(c Clients) string {
	share := 100 * float64(c.Completeness())
	text := strconv.FormatFloat(share, 'f', 2, 64)
	if text == "100.00" && c.MissingRecords > 0 {
		return "above 99.99%"
	}
	return text + "%"
}
