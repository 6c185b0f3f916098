package io.github.bulletmetrics.storm;

import java.util.Collection;
import java.util.regex.Pattern;

/**
 * The JVM options that may be reported: those about heap, stack and garbage collection. Other options may contain
 * secrets ({@code -Dpassword=...}, an agent's argument, a path). Therefore only flags with a known name and a numeric
 * value are reported.
 */
final class JvmFlags {
    private static final Pattern REPORTED =
            Pattern.compile("-Xm[snx](?:\\d+|%HEAP-MEM%)[kKmMgGtT]?|-Xss\\d+[kKmMgG]?|-Xint|-Xcomp|-Xmixed|-Xnoclassgc"
            + "|-XX:[+-](?:" + switches() + ")|-XX:(?:" + quantities() + ")=\\d+(?:\\.\\d+)?[kKmMgGtT]?");

    private JvmFlags() {
    }

    private static String switches() {
        return "Use\\w*GC|Use(?:NUMA|StringDeduplication|CompressedOops|CompressedClassPointers|TLAB|LargePages|TransparentHugePages"
                + "|ContainerSupport|AdaptiveSizePolicy|AdaptiveGenerationSizing|GCOverheadLimit|DynamicNumberOfGCThreads)|AlwaysPreTouch"
                + "|DisableExplicitGC|ExplicitGCInvokesConcurrent|ParallelRefProcEnabled|ScavengeBeforeFullGC|TieredCompilation"
                + "|ZGenerational|ZUncommit|ZProactive|G1\\w+|UseCMS\\w+|CMS\\w+|Shenandoah\\w+";
    }

    private static String quantities() {
        return "MaxGCPauseMillis|GCPauseIntervalMillis|GCTimeRatio|ParallelGCThreads|ConcGCThreads|InitiatingHeapOccupancyPercent"
                + "|NewRatio|SurvivorRatio|TargetSurvivorRatio|MaxTenuringThreshold|InitialTenuringThreshold|PretenureSizeThreshold"
                + "|(?:Initial|Min|Max)RAMPercentage|(?:Min|Max)HeapFreeRatio|(?:Initial|Max|SoftMax)HeapSize|(?:Max)?NewSize"
                + "|MaxDirectMemorySize|(?:Max)?MetaspaceSize|(?:Max)?PermSize|CompressedClassSpaceSize|ReservedCodeCacheSize"
                + "|ThreadStackSize|ActiveProcessorCount|TieredStopAtLevel|G1\\w+|CMS\\w+|Shenandoah\\w+|Z\\w+";
    }

    /**
     * The flags that may be reported, in their order, separated by blanks.
     *
     * @param options a text of options with blanks between, or a list of such texts, as Storm takes both.
     */
    static String flags(Object options) {
        StringBuilder flags = new StringBuilder();
        if (options instanceof Collection) {
            for (Object some : (Collection<?>) options) {
                add(String.valueOf(some), flags);
            }
        } else {
            add(String.valueOf(options), flags);
        }
        return flags.toString();
    }

    private static void add(String options, StringBuilder flags) {
        for (String option : options.split("\\s+")) {
            if (REPORTED.matcher(option).matches()) {
                flags.append(flags.length() == 0 ? "" : " ").append(option);
            }
        }
    }
}
