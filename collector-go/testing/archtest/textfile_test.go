package archtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// opensFiles are calls that read a file as it is.
var opensFiles = regexp.MustCompile(`\b(os\.(ReadFile|Open|OpenFile)|tls\.LoadX509KeyPair|LoadHTTPConfigFile)\(`)

// ownFiles are the packages and files that read what the program itself, the kernel or a test has written, which is no
// text of somebody else's.
var ownFiles = []string{
	"testing/cmd/bench/", "tools/", "internal/lab/bench/", "testing/bench/", "testing/chaos/",
	"testing/accesstest/", "testing/servertest/",
	"internal/lib/textfile/", "internal/lib/disk/", "internal/lab/stack/", "internal/lab/runstore/", "internal/collector/store/blocks/edition.go",
	"internal/collector/store/upgrade/", "internal/lib/heap/", // cgroups
	"internal/lab/runner/trial.go", "internal/lab/runner/search.go",
	"internal/lab/report/operand.go",
	"internal/lab/measure/manifest.go",            // /proc and /sys
	"internal/storm/doctor/examine/connection.go", // whether a file can be opened
}

// A text file that somebody gives to the program is read by package textfile, so that byte order marks, line ends and
// UTF-16 are treated alike everywhere.
func TestTextFilesAreReadInOnePlace(t *testing.T) {
	used := map[string]bool{}
	eachSource(t, []string{".go"}, func(file, source string) {
		name := strings.TrimPrefix(file, "../../../collector-go/")
		if strings.HasSuffix(name, "_test.go") || !opensFiles.MatchString(source) {
			return
		}
		for _, own := range ownFiles {
			if strings.HasPrefix(name, own) {
				used[own] = true
				return
			}
		}
		assert.Fail(t, "a file is opened outside of package textfile", "%s: %s", name, opensFiles.FindString(source))
	})
	for _, own := range ownFiles {
		assert.True(t, used[own], "%s opens no file any more: remove it here", own)
	}
}
