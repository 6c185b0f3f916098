package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.proto.v1.BucketSpan;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;

/** Encodes the latency hook's distributions in the wire format. */
final class LatencySamples {
    private LatencySamples() {
    }

    /** A {@link HistogramSample}, encoded. */
    static byte[] encode(LatencyPack pack, LatencyPack.Distribution of, int seriesId, long timeMs) {
        HistogramSample.Builder sample = HistogramSample.newBuilder()
                .setSeriesId(seriesId)
                .setTimeMs(timeMs)
                .setSchema(pack.schema())
                .setZeroThreshold(pack.zeroThreshold())
                .setZeroCount(of.zeros())
                .setCount(of.count())
                .setSum(of.sumSeconds())
                .setNegativeCount(of.negatives());
        int end = 0;
        for (int run = 0; run < of.runs(); run++) {
            sample.addPositiveSpans(BucketSpan.newBuilder().setOffset(of.firstBucket(run) - end).setLength(
                    of.length(run)));
            end = of.firstBucket(run) + of.length(run);
            for (int bucket = 0; bucket < of.length(run); bucket++) {
                sample.addPositiveCounts(of.inBucket(run, bucket));
            }
        }
        return sample.build().toByteArray();
    }
}
