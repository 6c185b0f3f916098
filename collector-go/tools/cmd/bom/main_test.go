package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/tools/bom"
)

// jar writes the bill of a jar with one good library and one that may be bad.
func jar(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "jar.cdx.json")
	part := func(name string) bom.Component {
		purl := "pkg:maven/org.example/" + name + "@1.0?type=jar"
		return bom.Component{Type: "library", Ref: purl, Group: "org.example", Name: name, Version: "1.0", PURL: purl}
	}
	b := bom.BOM{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: bom.Metadata{Component: part("plugin")},
		Components: []bom.Component{part("bad"), part("good")}}
	require.NoError(t, b.Write(path))
	return path
}

// database knows GHSA-1 of the bad library, or nothing.
func database(t *testing.T, knows bool) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.JSONEq(t, `{"queries": [{"package": {"purl": "pkg:maven/org.example/bad@1.0"}}, {"package": {"purl": "pkg:maven/org.example/good@1.0"}}]}`,
			string(asked))
		if knows {
			fmt.Fprint(w, `{"results": [{"vulns": [{"id": "GHSA-1", "modified": "2026-01-01T00:00:00Z"}]}, {}]}`)
		} else {
			fmt.Fprint(w, `{"results": [{}, {}]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestWhatIsKnownOfAJarFails(t *testing.T) {
	var out strings.Builder
	path := jar(t)
	require.NoError(t, run(t.Context(), []string{"known", "--mode", "required", "--database", database(t, false), path,
		path}, &out))
	assert.Contains(t, out.String(), "2 libraries of jars, 0 known vulnerabilities")

	out.Reset()
	err := run(t.Context(), []string{"known", "--database", database(t, true), path}, &out)
	assert.ErrorContains(t, err, "1 known vulnerabilities")
	assert.Contains(t, out.String(), "pkg:maven/org.example/bad@1.0: GHSA-1")

	out.Reset()
	require.NoError(t, run(t.Context(), []string{"known", "--list", "--database", database(t, true), path}, &out))
	assert.Contains(t, out.String(), "pkg:maven/org.example/bad@1.0: GHSA-1")
}

func TestWhatIsAcceptedDoesNotFailUntilItsDay(t *testing.T) {
	accepted := filepath.Join(t.TempDir(), "accepted")
	require.NoError(t, os.WriteFile(accepted, []byte("GHSA-1 2026-11-30 nothing of ours reaches it\n"), 0o600))
	l := lookUp{database: database(t, true), accepted: accepted}
	var out strings.Builder
	require.NoError(t, l.run(t.Context(), []string{jar(t)}, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), &out))
	assert.Contains(t, out.String(), "GHSA-1 (accepted)")
	assert.Error(t, l.run(t.Context(), []string{jar(t)}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), &out))

	require.NoError(t, os.WriteFile(accepted, []byte("GHSA-1\n"), 0o600))
	assert.ErrorContains(t, l.run(t.Context(), []string{jar(t)}, time.Now(), &out), accepted)
}

func TestADatabaseThatCannotBeReachedProvesNothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var out strings.Builder
	args := []string{"known", "--database", server.URL, jar(t)}
	require.NoError(t, run(t.Context(), args, &out))
	assert.Contains(t, out.String(), "NOT CHECKED")
	assert.ErrorContains(t, run(t.Context(), append([]string{"known", "--mode", "required"}, args[1:]...), io.Discard),
		"NOT CHECKED")
}

func TestTheBillOfAProgramIsChecked(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "program.cdx.json")
	require.NoError(t, run(t.Context(), []string{"program", "--out", path, "--version", "1.2.3", self,
		"pkg:npm/uplot@1.6.32"}, io.Discard))
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"check", path}, &out))
	assert.Contains(t, out.String(), "collector-go 1.2.3")

	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	assert.ErrorContains(t, run(t.Context(), []string{"check", path}, &out), path)
	for _, wrong := range [][]string{{}, {"unknown"}, {"program"}, {"known"}, {"known", "missing.json"}} {
		assert.Error(t, run(context.Background(), wrong, io.Discard), wrong)
	}
}
