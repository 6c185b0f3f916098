package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository is the root of all parts, seen from here.
const repository = "../../.."

func contents(t *testing.T, path string) string {
	text, err := os.ReadFile(filepath.Join(repository, path))
	require.NoError(t, err)
	return string(text)
}

// The file VERSION has the version: Maven's default and the changelog's first entry agree with it.
func TestThereIsOneVersion(t *testing.T) {
	version := strings.TrimSuffix(contents(t, "VERSION"), "\n")
	require.Regexp(t, `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`, version, "semver.org")
	assert.Contains(t, contents(t, "pom.xml"), "<revision>"+version+"-SNAPSHOT</revision>")

	entry := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(contents(t, "CHANGELOG.md"))
	require.NotNil(t, entry, "CHANGELOG.md has an entry")
	assert.Equal(t, version, entry[1], "the changelog begins with what VERSION has")
}
