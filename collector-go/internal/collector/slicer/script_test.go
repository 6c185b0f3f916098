package slicer

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

var update = flag.Bool("update", false, "rewrite the expected slices of the scripts")

// TestScripts plays testdata/*.txt. The lines of a script are journal entries. A line that begins with "=> " is the
// output of the line above, as "end series value". Times are in seconds.
//
//	option lateness 30                  before all else
//	define 1 gauge heap interval=1      series 1, of worker w:1 unless worker= names another
//	connect 7 | disconnect 7 | started
//	batch 7: 1@12=5 1@13=6              producer 7 sends; sequences increase automatically
//	option health 30                    the collection's own series every 30 s; of at most three metrics a worker
//	batch 7: received 14 1@12=5         the collector received it at 14
//	layout 5: 1 2 3                     layout 5 contains these series
//	block 7: 5@10+1*2 = 1 2 - 4 5 6     producer 7 sends two rows of it, at 10 and 11: series 1 has 1 and 2, series 2 has none and 4
//	dropped w:1 queue_full 5
//	tick 60 | ticks 60 90               one tick per second
//	detach 1 | withdraw 1 | describe w:1 info worker=w:1 pid=3 | close | restart | counts | known
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, want)
			if *update {
				require.NoError(t, os.WriteFile(file, got, 0o644))
				return
			}
			require.Equal(t, string(want), string(got))
		})
	}
}

// play returns the script with the actual output in place of its "=> " lines.
func play(t *testing.T, script []byte) []byte {
	var out bytes.Buffer
	p := newPlayer(t)
	for lines := bufio.NewScanner(bytes.NewReader(script)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "=> ") {
			continue
		}
		out.WriteString(line + "\n")
		words := strings.Fields(strings.Split(line, "#")[0])
		if len(words) == 0 {
			continue
		}
		for _, said := range p.do(words) {
			out.WriteString("=> " + said + "\n")
		}
	}
	return out.Bytes()
}

type player struct {
	t        *testing.T
	options  Options
	slicer   *Slicer
	sequence uint64
	names    map[slice.Ref]string
}

func newPlayer(t *testing.T) *player {
	return &player{t: t, options: DefaultOptions(), names: make(map[slice.Ref]string)}
}

func (p *player) do(words []string) (said []string) {
	if words[0] == "option" {
		p.option(words[1], p.ms(words[2]))
		return nil
	}
	if p.slicer == nil {
		var err error
		p.slicer, err = New(p.options)
		require.NoError(p.t, err)
	}
	s := p.slicer
	switch words[0] {
	case "define":
		s.Define(p.id(words[1]), p.rule(words[2:]))
	case "connect":
		s.Connect(p.id(words[1]))
	case "ended":
		p.slicer.Ended(p.id(words[1]))
	case "disconnect":
		s.Disconnect(p.id(words[1]))
	case "sole":
		s.SoleSender(p.id(words[1]), "t", words[2] == "yes")
	case "started":
		s.Started()
	case "batch":
		p.batch(words)
	case "layout":
		var series []uint32
		for _, id := range words[2:] {
			series = append(series, p.id(id))
		}
		s.DefineLayout(p.id(strings.TrimSuffix(words[1], ":")), series)
	case "block":
		said = append(said, p.block(words)...)
	case "tick":
		s.Tick(p.ms(words[1]))
	case "ticks":
		for now := p.ms(words[1]); now <= p.ms(words[2]); now += 1000 {
			s.Tick(now)
		}
	case "beats": // ticks, while a producer sends other data every second
		for now := p.ms(words[2]); now <= p.ms(words[3]); now += 1000 {
			s.Tick(now)
			p.sequence++
			s.beginBatch(p.id(words[1]), p.sequence)
			s.endBatch()
		}
		s.Tick(p.ms(words[3]))
	case "detach":
		s.Detach(p.id(words[1]))
	case "withdraw":
		said = append(said, fmt.Sprintf("withdrawn %d", s.Retract(p.id(words[1]))))
	case "describe":
		s.Describe(p.worker(words[1]),
			metric.Series{Kind: metric.KindGauge,
				Labels: labels.FromStrings(append([]string{"__name__", words[2]}, pairs(words[3:])...)...)})
	case "dropped":
		s.Dropped(p.worker(words[1]), words[2], uint64(p.id(words[3])))
	case "close":
		s.CloseAll()
	case "restart":
		restored, err := Restore(s.Snapshot(), p.options)
		require.NoError(p.t, err)
		p.slicer = restored
	case "counts":
		return []string{p.counts()}
	case "known":
		c := s.Counts()
		return []string{fmt.Sprintf("series %d sources %d producers %d topologies %d", c.Series, c.Sources,
			len(s.producers), len(s.topologies))}
	default:
		p.t.Fatalf("no such line: %v", words)
	}
	return append(said, p.closed()...)
}

func pairs(words []string) (all []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		all = append(all, name, value)
	}
	return all
}

func (p *player) option(name string, ms int64) {
	switch name {
	case "width":
		p.options.WidthMs = ms
	case "lateness":
		p.options.LatenessMs = ms
	case "max_open":
		p.options.MaxOpenSamples = int(ms / 1000)
	case "max_series":
		p.options.MaxSeries = int(ms / 1000)
	case "health":
		p.options.Health = testHealth(ms)
	case "keep":
		p.options.KeepMs, p.options.BacklogMs = ms, ms
	case "max_buckets":
		p.options.MaxBuckets = int(ms / 1000)
	default:
		p.t.Fatalf("no such option: %s", name)
	}
}

func (p *player) worker(text string) metric.Worker {
	host, port, _ := strings.Cut(text, ":")
	return metric.Worker{Topology: "t", Host: host, Port: p.id(port)}
}

// rule reads a rule such as "gauge heap interval=1 pack=10 worker=w:1".
func (p *player) rule(words []string) metric.Rule {
	rule := metric.Rule{PerUnit: 1, Least: 0, Most: math.MaxFloat64, IntervalMs: 10_000}
	place := "w:1"
	name := words[1]
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "interval":
			rule.IntervalMs = p.ms(value)
		case "pack":
			rule.PackSpanMs = p.ms(value)
		case "worker":
			place = value
		default:
			p.t.Fatalf("no such property of a series: %s", word)
		}
	}
	rule.Worker = p.worker(place)
	rule.Series.Labels = labels.FromStrings("__name__", name, "worker", place)
	switch words[0] {
	case "gauge":
		rule.Series.Kind, rule.Temporality = metric.KindGauge, metric.Gauge
		rule.MinName, rule.MaxName = name+"_min", name+"_max"
	case "start":
		rule.Series.Kind, rule.Temporality = metric.KindGauge, metric.Gauge
		rule.RestartsName = "restarts"
	case "cumulative":
		rule.Series.Kind, rule.Temporality = metric.KindCounter, metric.Cumulative
	case "delta":
		rule.Series.Kind, rule.Temporality = metric.KindCounter, metric.Delta
	case "distribution":
		rule.Series.Kind, rule.Temporality = metric.KindDistribution, metric.Cumulative
		rule.NegativeName = name + "_negative"
	case "deltas":
		rule.Series.Kind, rule.Temporality = metric.KindDistribution, metric.Delta
		rule.NegativeName = name + "_negative"
	default:
		p.t.Fatalf("no such kind: %s", words[0])
	}
	return rule
}

// batch reads a batch such as "7: 1@12=5 2@13={schema:index*count,...}".
func (p *player) batch(words []string) {
	p.sequence++
	p.slicer.beginBatch(p.id(strings.TrimSuffix(words[1], ":")), p.sequence)
	words = words[2:]
	for sender := (metric.Worker{Topology: "t", Host: "w", Port: 1}); ; words = words[2:] {
		word, at := words[0], words[min(1, len(words)-1)]
		switch word {
		case "received":
			p.slicer.received(p.ms(at))
			continue
		case "sent": // by w:1
			p.slicer.sent(sender, p.ms(at))
			continue
		case "answered": // time of arrival / sending time by the collector's clock
			came, sent, _ := strings.Cut(at, "/")
			p.slicer.answered(sender, p.ms(came), p.ms(sent))
			continue
		}
		break
	}
	for _, word := range words {
		id, rest, _ := strings.Cut(word, "@")
		at, value, _ := strings.Cut(rest, "=")
		if strings.HasPrefix(value, "{") {
			h, negatives := p.histogram(strings.Trim(value, "{}"))
			require.True(p.t, p.slicer.AddHistogram(p.id(id), p.ms(at), h, negatives), "%s is not defined", id)
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(p.t, err)
		if !p.slicer.Add(p.id(id), p.ms(at), v) {
			p.sequence-- // has no effect: the sample is simply absent
		}
	}
	p.slicer.endBatch()
}

// block reads "7: layout@first+step*rows = values", with "-" for a cell without a sample. It returns the series that
// were reported as missing.
func (p *player) block(words []string) (said []string) {
	layout, rest, _ := strings.Cut(words[2], "@")
	first, rest, _ := strings.Cut(rest, "+")
	step, rows, _ := strings.Cut(rest, "*")
	cells := words[4:]
	b := block.Block{Rows: int(p.id(rows)), FirstMs: p.ms(first), StepMs: p.ms(step),
		Presence: make([]byte, (len(cells)+7)/8)}
	b.Columns = len(cells) / b.Rows
	var values []float64
	for cell, word := range cells {
		if word == "-" {
			continue
		}
		v, err := strconv.ParseFloat(word, 64)
		require.NoError(p.t, err)
		b.Presence[cell/8] |= 1 << (cell % 8)
		values = append(values, v)
	}
	p.sequence++
	p.slicer.beginBatch(p.id(strings.TrimSuffix(words[1], ":")), p.sequence)
	known := p.slicer.AddBlock(p.id(layout), &b, values, func(id uint32, samples int) bool {
		said = append(said, fmt.Sprintf("missing %d: %d", id, samples))
		return false
	})
	require.True(p.t, known, "layout %s is not defined", layout)
	p.slicer.endBatch()
	return said
}

// histogram reads a histogram such as "schema:index*count,...;negatives".
func (p *player) histogram(text string) (*histogram.Histogram, uint64) {
	text, below, _ := strings.Cut(text, ";")
	schema, text, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(schema)
	require.NoError(p.t, err)
	d := distribution{schema: int32(n), zeroThreshold: 0.0005}
	for _, part := range strings.Split(text, ",") {
		index, count, _ := strings.Cut(part, "*")
		i, err := strconv.Atoi(index)
		require.NoError(p.t, err)
		c, err := strconv.ParseUint(count, 10, 64)
		require.NoError(p.t, err)
		d.buckets = append(d.buckets, indexed{int32(i), c})
		d.count += c
		d.sum += float64(c) * upperBound(int32(i), d.schema)
	}
	negatives, _ := strconv.ParseUint(below, 10, 64)
	return d.histogram(), negatives
}

func (p *player) closed() (said []string) {
	c := p.slicer.Closed()
	for _, d := range c.Definitions {
		p.names[d.Ref] = seriesName(d.Series)
	}
	for i, ref := range c.Refs {
		said = append(said, fmt.Sprintf("%v %s %s", float64(c.EndsMs[i])/1000, p.names[ref], text(c.Values[i])))
	}
	for i, ref := range c.HistogramRefs {
		said = append(said, fmt.Sprintf("%v %s %s", float64(c.HistogramEndsMs[i])/1000, p.names[ref],
			histogramText(c.Histograms[i])))
	}
	c.Reset()
	return said
}

// seriesName returns the name, the worker unless it is w:1, and all other labels.
func seriesName(s metric.Series) string {
	name := s.Name()
	s.Labels.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && !(l.Name == "worker" && l.Value == "w:1") {
			name += "," + l.Name + "=" + l.Value
		}
	})
	return name
}

func text(v float64) string {
	if math.Float64bits(v) == math.Float64bits(staleNaN) {
		return "gap"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func histogramText(h *histogram.Histogram) string {
	if h == nil {
		return "gap"
	}
	d := readDistribution(&reading{histogram: h})
	parts := make([]string, len(d.buckets))
	for i, b := range d.buckets {
		parts[i] = fmt.Sprintf("%d*%d", b.index, b.count)
	}
	return fmt.Sprintf("{%d:%s} count %d sum %v", d.schema, strings.Join(parts, ","), d.count, d.sum)
}

func (p *player) counts() string {
	c := p.slicer.Counts()
	return fmt.Sprintf("in_slices %d open %d late %d refused %v", c.InSlices, c.Open, c.Late, c.Refused)
}

func (p *player) ms(text string) int64 {
	seconds, err := strconv.ParseFloat(text, 64)
	require.NoError(p.t, err)
	return int64(math.Round(seconds * 1000))
}

func (p *player) id(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(p.t, err)
	return uint32(n)
}
