package measure

import (
	"regexp"
	"slices"
	"strings"
)

// ofHeap matches JVM options about the heap and other memory limits, ofGC those about the garbage collector. Many
// options of a garbage collector begin with its name.
var (
	ofHeap = regexp.MustCompile(`^-(?:Xm[snx]|Xss|XX:(?:(?:Initial|Min|Max|SoftMax)HeapSize|(?:Initial|Min|Max)RAMPercentage|MaxRAM|(?:Max)?NewSize|MaxDirectMemorySize` +
		`|(?:Max)?MetaspaceSize|(?:Max)?PermSize|CompressedClassSpaceSize|ReservedCodeCacheSize|ThreadStackSize)=)`)
	ofGC = regexp.MustCompile(`^-(?:Xnoclassgc|Xlog:gc|Xloggc|verbose:gc|XX:(?:[+-]?(?:\w*GC\w*|G1\w+|CMS\w+|UseCMS\w+|Shenandoah\w+|Z[A-Z]\w+|UseAdaptive\w+|ParallelRefProcEnabled` +
		`|UseStringDeduplication|AlwaysPreTouch)(?:=.*)?|(?:NewRatio|(?:Target)?SurvivorRatio|(?:Initial|Max)TenuringThreshold|PretenureSizeThreshold` +
		`|InitiatingHeapOccupancyPercent|(?:Min|Max)HeapFreeRatio)=.*)$)`)
)

// heapFlags returns the JVM options about memory, gcFlags those about the garbage collector.
func heapFlags(options string) string { return effective(options, ofHeap) }
func gcFlags(options string) string   { return effective(options, ofGC) }

// effective returns the options of one kind without repetitions. If an option occurs twice, the JVM uses the last, and
// so does effective.
func effective(options string, kind *regexp.Regexp) string {
	var all []string
	for _, option := range strings.Fields(options) {
		if !kind.MatchString(option) {
			continue
		}
		all = slices.DeleteFunc(all, func(earlier string) bool { return flagName(earlier) == flagName(option) })
		all = append(all, option)
	}
	return strings.Join(all, " ")
}

var flagNames = regexp.MustCompile(`^-X(?:m[snx]|ss)|^-XX:[+-]?\w+|^-[\w:]+`)

// flagName returns the name of an option without its value or its + or - sign.
func flagName(option string) string {
	return strings.NewReplacer("+", "", "-XX:-", "-XX:").Replace(flagNames.FindString(option))
}
