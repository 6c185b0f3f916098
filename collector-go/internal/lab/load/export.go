package load

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Point is a point of a cumulative distribution: Count queries had a latency of at most Seconds.
type Point struct {
	Share   float64 // 0 to 1
	Seconds float64
	Count   int64
}

// ticks is the number of points of a distribution per halving of the distance to 100%.
const ticks = 5

// Points returns a histogram's cumulative distribution, with finer steps towards its end.
func Points(h *hdrhistogram.Histogram) (points []Point) {
	for _, b := range h.CumulativeDistributionWithTicks(ticks) {
		points = append(points, Point{Share: b.Quantile / 100, Seconds: float64(b.ValueAt) / 1e6, Count: b.Count})
	}
	return points
}

// WriteHistogram writes a histogram of µs in the format of the file's extension. .csv has percentiles with a header
// line, .hgrm is HdrHistogram's text (ms), and .hlog is its log, which its tools merge and plot.
func WriteHistogram(w io.Writer, name string, h *hdrhistogram.Histogram, from, to time.Time) error {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return writeCSV(w, h)
	case ".hgrm":
		_, err := h.PercentilesPrint(w, ticks, 1000)
		return err
	case ".hlog":
		return writeLog(w, h, from, to)
	}
	return fmt.Errorf("%s: use a file name that ends in .csv, .hgrm or .hlog", name)
}

func writeCSV(w io.Writer, h *hdrhistogram.Histogram) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"percentile", "latency_seconds", "count"}) // Flush returns the first error
	for _, p := range Points(h) {
		_ = out.Write([]string{strconv.FormatFloat(math.Round(p.Share*1e8)/1e6, 'f', -1, 64),
			strconv.FormatFloat(p.Seconds, 'f', 6, 64), strconv.FormatInt(p.Count, 10)})
	}
	out.Flush()
	return out.Error()
}

func writeLog(w io.Writer, h *hdrhistogram.Histogram, from, to time.Time) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	h.SetStartTimeMs(from.UnixMilli())
	h.SetEndTimeMs(to.UnixMilli())
	for _, write := range []func() error{log.OutputLogFormatVersion,
		func() error { return log.OutputStartTime(from.UnixMilli()) }, log.OutputLegend,
		func() error { return log.OutputIntervalHistogram(h) }} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
