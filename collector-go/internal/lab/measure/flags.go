package measure

import (
	"regexp"
	"slices"
	"strings"
)

// Options of a JVM that are about its heap and what else bounds its memory, and those about its garbage collector. A
// collector's own options begin with its name.
var (
	ofHeap = regexp.MustCompile(`^-(?:Xm[snx]|Xss|XX:(?:(?:Initial|Min|Max|SoftMax)HeapSize|(?:Initial|Min|Max)RAMPercentage|MaxRAM|(?:Max)?NewSize|MaxDirectMemorySize` +
		`|(?:Max)?MetaspaceSize|(?:Max)?PermSize|CompressedClassSpaceSize|ReservedCodeCacheSize|ThreadStackSize)=)`)
	ofGC = regexp.MustCompile(`^-(?:Xnoclassgc|Xlog:gc|Xloggc|verbose:gc|XX:(?:[+-]?(?:\w*GC\w*|G1\w+|CMS\w+|UseCMS\w+|Shenandoah\w+|Z[A-Z]\w+|UseAdaptive\w+|ParallelRefProcEnabled` +
		`|UseStringDeduplication|AlwaysPreTouch)(?:=.*)?|(?:NewRatio|(?:Target)?SurvivorRatio|(?:Initial|Max)TenuringThreshold|PretenureSizeThreshold` +
		`|InitiatingHeapOccupancyPercent|(?:Min|Max)HeapFreeRatio)=.*)$)`)
)

// heapFlags are those of a JVM's options that are about its heap, gcFlags those about its garbage collector.
func heapFlags(options string) string { return effective(options, ofHeap) }
func gcFlags(options string) string   { return effective(options, ofGC) }

// effective are the options of a kind, each once: of one that is there twice the JVM takes the last.
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

// flagName is what an option sets, whatever it sets it to.
func flagName(option string) string {
	return strings.NewReplacer("+", "", "-XX:-", "-XX:").Replace(flagNames.FindString(option))
}
