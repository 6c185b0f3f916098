// Package rulestest makes the alert rules faster, so that a test sees in seconds what takes minutes.
package rulestest

import (
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

// duration is a window, an offset or a wait in the rule file.
var duration = regexp.MustCompile(`(\[|offset |\bfor: |keep_firing_for: )([0-9]+[a-z][0-9a-z]*)\b`)

// Scaled returns the rule file with every window, for and keep_firing_for multiplied by scale, to the millisecond.
// Limits and expressions stay, so that the rules decide as they do in production.
func Scaled(interval, offset time.Duration, scale float64) []byte {
	rules := alertrules.PrometheusRules(interval, offset, alertrules.Runbooks)
	return duration.ReplaceAllFunc(rules, func(found []byte) []byte {
		parts := duration.FindSubmatch(found)
		d, err := model.ParseDuration(string(parts[2]))
		if err != nil {
			panic(fmt.Sprintf("rulestest: %q: %v", found, err)) // the pattern matches nothing else
		}
		scaled := time.Duration(float64(d) * scale)
		return fmt.Appendf(nil, "%s%dms", parts[1], scaled.Round(time.Millisecond).Milliseconds())
	})
}
