package yamlfile

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestALibrarysFaultsAreInPlainWords(t *testing.T) {
	for said, want := range map[string]string{
		"yaml: unmarshal errors:\n  line 3: field usr not found in type config.plain\n  line 4: cannot unmarshal !!str `s3cret` into bool": "" +
			"f:3: unknown field \"usr\"\nf:4: found a text, expected true or false",
		"yaml: unmarshal errors:\n  line 1: cannot unmarshal !!int `5` into []rulefmt.RuleGroup":                              "f:1: found a number, expected a list",
		"yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string\n  line 1: cannot unmarshal !!seq into string": "f:1: found a list, expected a text",
		"yaml: line 2: did not find expected node content":                                                                    "f:2: did not find expected node content",
		`0:0: groupname: "g" is repeated in the same file`:                                                                    `f: groupname: "g" is repeated in the same file`,
		`5:11: group "g", rule 1, "A": could not parse expression`:                                                            `f: 5:11: group "g", rule 1, "A": could not parse expression`,
	} {
		assert.EqualError(t, LibraryFaults("f", errors.New(said)), want)
	}
}
