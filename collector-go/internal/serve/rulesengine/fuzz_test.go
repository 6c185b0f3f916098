package rulesengine

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Whatever a rule file contains, its faults are reported with its name. No expression is accepted that exceeds the
// limits of queries.
func FuzzRulesFile(f *testing.F) {
	engine, err := query.New(query.Absent, query.DefaultOptions())
	require.NoError(f, err)
	files, err := filepath.Glob("../../../../dashboards/prometheus/*.y*ml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	rule := "groups:\n- name: a\n  rules:\n  - alert: b\n    expr: %s\n    labels: {c: '{{ %s }}'}\n"
	f.Add(fmt.Appendf(nil, rule, strings.Repeat("(", 5000), "$value"))
	f.Add(fmt.Appendf(nil, rule, "x", strings.Repeat("(", 5000)))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ngroups: *c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLoader([]File{{Name: "r.yml", Text: text}}, engine.Parser(), slog.New(slog.DiscardHandler))
		groups, errs := l.Load("r.yml", false, model.UTF8Validation)
		for _, err := range errs {
			require.ErrorContains(t, err, "r.yml")
		}
		if len(errs) > 0 {
			return
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				require.NoError(t, engine.Check(rule.Expr), "what is taken from a file may be asked")
			}
		}
	})
}
