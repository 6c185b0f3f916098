package archtest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What make test-changed runs for a change, by .ci/changed, and what it leaves for later.
func TestAChangeIsTestedByWhatItCanReach(t *testing.T) {
	for files, want := range map[string]string{
		"docs/page.md":                                                  "test-collector",
		"proto/bulletmetrics/v1/data.proto":                             "test-collector test-proto test-client test-plugin",
		"plugin-java/src/main/java/Sender.java":                         "test-collector test-plugin later: test-cluster later: compat",
		"dashboards/gc.json":                                            "test-collector test-dashboards",
		"collector-go/internal/serve/webui/static/app.js":               "test-collector test-page",
		"collector-go/internal/collector/store/grid/grid.go":            "test-collector test-stores test-chaos",
		"collector-go/internal/collector/journal/journal.go\nREADME.md": "test-collector test-client test-chaos",
		"collector-go/testing/e2e/kill_test.go":                         "test-collector later: test-cluster",
		"topology/local-kafka/pom.xml":                                  "test-collector later: test-java, of which the modules topology/local-kafka changed later: test-cluster",
	} {
		command := exec.Command("../../../.ci/changed", "--list")
		command.Stdin = strings.NewReader(files + "\n")
		printed, err := command.CombinedOutput()
		require.NoError(t, err, "%s", printed)
		assert.Equal(t, want, strings.Join(strings.Fields(string(printed)), " "), files)
	}
}
