package metric

import "strings"

// IsConcurrentGC reports whether a collector reports the time of concurrent cycles, during which the worker continues.
// OpenJDK names such a collector "... Cycles" and the one of its pauses "... Pauses" (Shenandoah, ZGC from JDK 17 on).
// Azul has "GPGC New" and "GPGC New Pauses".
//
// All others report pauses, including G1 Concurrent GC, ConcurrentMarkSweep and the ZGC of JDK 11, despite their names.
// An unknown collector counts as pauses, so that its alert is not lost.
func IsConcurrentGC(collector string) bool {
	return strings.HasSuffix(collector, "Cycles") ||
		strings.HasPrefix(collector, "GPGC") && !strings.HasSuffix(collector, "Pauses")
}
