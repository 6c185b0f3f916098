package plugininfo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const pluginSource = "../../../../plugin-java/src/main/java"

var (
	logCall = regexp.MustCompile(`\b(?:LOG|log)\.(info|warn|error)\(`)
	texts   = regexp.MustCompile(`^\s*"(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*`)
	joins   = regexp.MustCompile(`"\s*\+\s*"`)
)

// loggedBySource returns the messages in the plugin's source with their levels. Each begins with LogMark.
func loggedBySource(t *testing.T) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(pluginSource, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".java" {
			return err
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, at := range logCall.FindAllSubmatchIndex(source, -1) {
			quoted := string(texts.Find(source[at[1]:]))
			require.NotEmpty(t, quoted, "%s: a message that is not written where it is logged", path)
			quoted = strings.TrimSpace(joins.ReplaceAllString(quoted, ""))
			text, marked := strings.CutPrefix(quoted[1:len(quoted)-1], LogMark)
			assert.True(t, marked, "%s: %q does not begin with %q", path, text, LogMark)
			all[text] = string(source[at[2]:at[3]])
		}
		return nil
	}))
	return all
}

// Each message in the plugin's source is in the table, and each entry of the table is in the source. Exactly the
// warnings and errors have a fix.
func TestMessagesAreThoseOfThePlugin(t *testing.T) {
	source := loggedBySource(t)
	known := map[string]bool{}
	for _, m := range Messages {
		level, logged := source[m.Text]
		assert.True(t, logged, "the plugin does not log %q", m.Text)
		assert.False(t, known[m.Text], "twice: %q", m.Text)
		known[m.Text] = true
		assert.NotEmpty(t, m.Means, m.Text)
		assert.Equal(t, level != "info", m.Fix != "", "%s: %s", level, m.Text)
		for _, over := range m.ends {
			assert.NotEqual(t, "info", source[over], "%q ends no trouble: %q", m.Text, over)
			assert.Contains(t, source, over)
		}
	}
	for text := range source {
		assert.True(t, known[text], "no row for %q", text)
	}
}

// The parts that distinguish causes are in the plugin's source, and each advice in the source is one of them.
func TestCausesAreThoseOfThePlugin(t *testing.T) {
	read := func(path string) string {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(source)
	}
	const storm = pluginSource + "/io/github/bulletmetrics/storm/"
	source := read(storm+"send/OutageLog.java") + read(storm+"sampler/SamplePack.java") +
		read(storm+"latency/LatencyPack.java") + read("../../../../proto/bulletmetrics/v1/service.proto")
	parts := map[string]bool{}
	for _, m := range Messages {
		for _, c := range m.Causes {
			assert.Contains(t, source, c.Part)
			assert.NotEmpty(t, c.Fix)
			parts[c.Part] = true
		}
	}
	advices := regexp.MustCompile(`return "([A-Z][^"]*)";`).FindAllStringSubmatch(read(storm+"send/OutageLog.java"), -1)
	require.Len(t, advices, 9)
	for _, advice := range advices {
		assert.True(t, parts[advice[1]], "no cause for %q", advice[1])
	}
}

// Each message is recognized, whatever its variable parts contain, even the words of other messages.
func TestReadTakesEachMessageForItself(t *testing.T) {
	for i := range Messages {
		template := Messages[i].Text
		for _, gap := range []string{"", "x", "1: 2", "a (was b): c.", "topology.worker.childopts"} {
			text := strings.ReplaceAll(template, "{}", gap)
			assert.Same(t, &Messages[i], Read(text), text)
		}
		if !strings.HasSuffix(template, "{}") {
			assert.NotSame(t, &Messages[i], Read(template+" And more"), template)
		}
	}
	assert.Nil(t, Read("Nothing of the plugin's"))
	assert.Nil(t, Read(""))
}
