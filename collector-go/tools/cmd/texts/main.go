// Command texts writes the sentences of sources, as package texts finds them, each as a paragraph of the Markdown file
// OUT, and into OUT.lines for each line of OUT the file and line that it is from. `.ci/prose` uses it.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/tools/texts"
)

// special are characters that Markdown would take for its own.
var special = regexp.MustCompile("[\\\\`*_<>|#\\[\\]~]|(?m:^[-+])")

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: texts OUT FILE ...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "texts:", err)
		os.Exit(1)
	}
}

func run(out string, files []string) error {
	var paragraphs, lines strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := texts.Of(file, source)
		if err != nil {
			return err
		}
		for _, text := range found {
			paragraph := special.ReplaceAllString(text.Text, `\$0`) + "\n\n"
			paragraphs.WriteString(paragraph)
			lines.WriteString(strings.Repeat(fmt.Sprintf("%s:%d\n", file, text.Line), strings.Count(paragraph, "\n")))
		}
	}
	if err := os.WriteFile(out+".lines", []byte(lines.String()), 0o666); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(paragraphs.String()), 0o666)
}
