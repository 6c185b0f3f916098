package csvtable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any table is either read or refused with its name. A table that is read has a line for each row.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/document/*.csv")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(strings.Repeat(",", 100_000)))
	f.Add([]byte("\"" + strings.Repeat("\"\"", 10_000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, columns := range [][]Column{concurrencyColumns, dataColumns, queryColumns, resourceColumns} {
			table, err := Parse("f.csv", data, columns)
			if err != nil {
				require.ErrorContains(t, err, "f.csv")
				continue
			}
			for row := range table.Len() {
				for _, column := range columns {
					_, _ = table.Figure(row, column.Name), table.Text(row, column.Name)
				}
			}
		}
	})
}
