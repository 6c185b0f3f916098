package textfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPathNamesSomething(t *testing.T) {
	for _, path := range []string{"a", "/a/b.yaml", "../../..", "with space", "größe/😀"} {
		var kept string
		require.NoError(t, PathFlag(&kept, "before").Set(path))
		assert.Equal(t, path, kept)
	}
	for path, want := range map[string]string{
		"": "is empty", " \t": "is blank", "a\x00b": `"a\x00b"`, "a\nb": `"a\nb"`, "a\xffb": "characters",
		strings.Repeat("x", 10<<20): "has 10485760 bytes",
	} {
		var kept string
		err := PathFlag(&kept, "before").Set(path)
		require.ErrorContains(t, err, want)
		assert.Less(t, len(err.Error()), 300)
		assert.Equal(t, "before", kept)
	}
}

func TestARelativePathInAFileStartsAtTheFile(t *testing.T) {
	assert.Equal(t, "conf/rules.yml", RelativePath("conf/collector.yaml", "rules.yml"))
	assert.Equal(t, "rules.yml", RelativePath("collector.yaml", "rules.yml"))
	assert.Equal(t, "/etc/rules.yml", RelativePath("conf/collector.yaml", "/etc/rules.yml"))
	assert.Equal(t, "/srv/rules.yml", RelativePath("/srv/conf/collector.yaml", "../rules.yml"))
}

func TestSeveralPaths(t *testing.T) {
	var repeated, several []string
	require.NoError(t, RepeatedPathFlag(&repeated).Set("a,b"))
	require.NoError(t, RepeatedPathFlag(&repeated).Set("c"))
	assert.Equal(t, []string{"a,b", "c"}, repeated)
	require.NoError(t, PathListFlag(&several).Set("a,b"))
	require.NoError(t, PathListFlag(&several).Set("c"))
	assert.Equal(t, []string{"a", "b", "c"}, several)
	assert.Equal(t, "a,b,c", PathListFlag(&several).String())
	require.ErrorContains(t, PathListFlag(&several).Set("d,,e"), "the path is empty")
	require.ErrorContains(t, RepeatedPathFlag(&several).Set(""), "the path is empty")
}
