package plugininfo

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The settings are those that the plugin's source declares.
func TestTheCollectorSettingsAreThePlugins(t *testing.T) {
	source, err := os.ReadFile("../../../../plugin-java/src/main/java/io/github/bulletmetrics/storm/Settings.java")
	require.NoError(t, err)
	var declared []string
	for _, m := range regexp.MustCompile(`= PREFIX \+ "([a-z.]+)"`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, m[1])
	}
	assert.NotEmpty(t, declared)
	assert.ElementsMatch(t, declared, CollectorSettings())
}
