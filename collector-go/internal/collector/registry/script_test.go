package registry

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

var update = flag.Bool("update", false, "write what scripts and golden files should say")

// t0 is the time at which every script begins: 2027-01-15T08:00:00Z.
const t0 = int64(1_800_000_000_000)

// script plays testdata/*.txt. A line is a command; lines with ">" are what the command before them shows.
//
//	define P TOPOLOGY ID HOST:PORT TASK    names a producer
//	connect P | disconnect P | start       as the journal has them
//	beat P HOST:PORT COMPONENT/TASK,...    these report every 10 s from now on, "__system/-1" being a worker's sampler
//	quiet HOST:PORT                        and these no more
//	tick N                                 N seconds pass
//	step N                                 the collector's clock is set by N seconds
//	report P HOST:PORT COMPONENT/TASK,... [AGO]   one report, AGO seconds old
//	worker P HOST:PORT PID START [TASK@AGO]...    a note; START in seconds since the script's beginning
//	info P KEY=VALUE...                    storm, bullet, java, plugin, set:NAME, comp:NAME=KIND/PARALLELISM/FIRST-LAST/CPU/ON/OFF, in:NAME=COMPONENT/STREAM/GROUPING
//	annotate P ID FROM TO TAGS TITLE       a note; P of an undefined topology is the API; FROM and TO in seconds, - for none
//	close P                                its last word: it is being closed
//	show annotations | topology NAME | dropped | tasks NAME | condition NAME | clients
type script struct {
	t       *testing.T
	s       *state
	entries []journal.Entry
	clock   int64
	series  map[metric.Raw]journal.SeriesID
	beats   map[string]beat
	numbers map[string]journal.ProducerID
	batches uint64
	ahead   int64 // of the senders' clocks, ms

	// Reports are sent as blocks. Every second block has an earlier row too, in which some tasks have no sample.
	blocks  bool
	layouts map[string]journal.LayoutID
}

type beat struct {
	producer journal.ProducerID
	where    string
	tasks    []string
}

func newScript(t *testing.T, l Limits) *script {
	return &script{t: t, s: newState(l, DefaultOptions("x").Times), clock: t0,
		series: map[metric.Raw]journal.SeriesID{}, layouts: map[string]journal.LayoutID{}, beats: map[string]beat{},
		numbers: map[string]journal.ProducerID{}}
}

func (p *script) apply(e journal.Entry) {
	p.entries = append(p.entries, e)
	p.s.apply(e)
}

func at(text string) place {
	host, port, _ := strings.Cut(text, ":")
	n, _ := strconv.ParseUint(port, 10, 32)
	return place{host, uint32(n)}
}

func integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (p *script) play(line string) string {
	f := strings.Fields(line)
	switch f[0] {
	case "define":
		w := at(f[4])
		p.numbers[f[1]] = journal.ProducerID(len(p.numbers) + 1)
		if f[2] == "-" {
			f[2], f[3] = "", ""
		}
		p.apply(&journal.ProducerDefined{ID: p.numbers[f[1]], Topology: f[2], TopologyID: f[3], Host: w.host,
			Port: w.port, Task: int32(integer(f[5]))})
	case "connect":
		p.apply(&journal.Connected{Producer: p.producer(f[1]), TimeMs: p.clock})
	case "disconnect":
		p.apply(&journal.Disconnected{Producer: p.producer(f[1]), TimeMs: p.clock})
	case "start":
		p.apply(&journal.Started{TimeMs: p.clock})
	case "beat":
		p.beats[f[2]+f[1]] = beat{p.producer(f[1]), f[2], strings.Split(f[3], ",")}
	case "quiet":
		for key, b := range p.beats {
			if b.where == f[1] {
				delete(p.beats, key)
			}
		}
	case "tick":
		for range integer(f[1]) {
			p.second()
		}
	case "step":
		p.clock += 1000 * integer(f[1])
	case "report":
		ago := int64(0)
		if len(f) > 4 {
			ago = integer(f[4])
		}
		p.report(beat{p.producer(f[1]), f[2], strings.Split(f[3], ",")}, p.clock-1000*ago)
	case "worker":
		p.notes(f[1], &bulletmetricsv1.Batch{Workers: []*bulletmetricsv1.WorkerInfo{p.worker(f[2:])}})
	case "info":
		p.notes(f[1], &bulletmetricsv1.Batch{Topology: topologyInfo(f[2:])})
	case "close":
		p.notes(f[1], &bulletmetricsv1.Batch{Closing: true})
	case "annotate":
		p.notes(f[1], &bulletmetricsv1.Batch{Annotations: []*bulletmetricsv1.Annotation{annotationOf(f[2:])}})
	case "show":
		return p.show(f[1:])
	default:
		require.Fail(p.t, "no such command", line)
	}
	return ""
}

func (p *script) producer(name string) journal.ProducerID {
	require.Contains(p.t, p.numbers, name)
	return p.numbers[name]
}

func (p *script) second() {
	p.clock += 1000
	if p.clock%10_000 == 0 {
		for _, key := range slices.Sorted(keysOf(p.beats)) {
			p.report(p.beats[key], p.clock)
		}
	}
	p.apply(&journal.Tick{TimeMs: p.clock})
}

func (p *script) batch(producer journal.ProducerID) *journal.Batch {
	p.batches++
	return &journal.Batch{Producer: producer, Sequence: p.batches, SentMs: p.clock + p.ahead, ReceivedMs: p.clock}
}

func (p *script) report(b beat, timeMs int64) {
	batch := p.batch(b.producer)
	w := at(b.where)
	for _, text := range b.tasks {
		component, task, _ := strings.Cut(text, "/")
		raw := metric.Raw{Worker: metric.Worker{Topology: "t", Host: w.host, Port: w.port}, Component: component,
			Task: int32(integer(task)), Name: "x", IntervalMs: 10_000}
		id, known := p.series[raw]
		if !known {
			id = journal.SeriesID(len(p.series) + 1)
			p.series[raw] = id
			p.apply(&journal.SeriesDefined{ID: id, Series: raw})
		}
		batch.IDs, batch.TimesMs, batch.Values = append(batch.IDs, id), append(batch.TimesMs, timeMs),
			append(batch.Values, 1)
	}
	if p.blocks && len(batch.IDs) > 0 {
		p.asBlock(batch, timeMs)
	}
	p.apply(batch)
}

// asBlock converts a report's samples into a block.
func (p *script) asBlock(b *journal.Batch, timeMs int64) {
	key := fmt.Sprint(b.IDs)
	layout, known := p.layouts[key]
	if !known {
		layout = journal.LayoutID(len(p.layouts) + 1)
		p.layouts[key] = layout
		p.apply(&journal.LayoutDefined{ID: layout, Series: slices.Clone(b.IDs)})
	}
	values := block.Block{Columns: len(b.IDs), Rows: 1, FirstMs: timeMs}
	if len(p.layouts)%2 == 0 {
		values.Rows, values.FirstMs, values.StepMs = 2, timeMs-1000, 1000
		values.Presence = make([]byte, (values.Cells()+7)/8)
		for cell := range values.Cells() {
			if cell%2 == 1 || cell%4 == 0 { // all of row 1, and some of row 0
				values.Presence[cell/8] |= 1 << (cell % 8)
			}
		}
	}
	b.Blocks = []journal.Block{{Layout: layout, Block: values}}
	b.IDs, b.TimesMs, b.Values = nil, nil, nil
}

func (p *script) notes(producer string, notes *bulletmetricsv1.Batch) {
	b := p.batch(p.producer(producer))
	b.Notes = notes
	p.apply(b)
}

func (p *script) worker(f []string) *bulletmetricsv1.WorkerInfo {
	w := at(f[0])
	info := &bulletmetricsv1.WorkerInfo{Host: w.host, Port: w.port, Pid: uint64(integer(f[1])), StartTimeMs: t0 +
		1000*integer(f[2])}
	for _, text := range f[3:] {
		task, ago, timed := strings.Cut(text, "@")
		info.Tasks = append(info.Tasks, int32(integer(task)))
		if timed {
			info.TaskTimesMs = append(info.TaskTimesMs, p.clock-1000*integer(ago))
		}
	}
	return info
}

func topologyInfo(f []string) *bulletmetricsv1.TopologyInfo {
	info := &bulletmetricsv1.TopologyInfo{Settings: map[string]string{}}
	components := map[string]*bulletmetricsv1.ComponentInfo{}
	for _, pair := range f {
		key, value, _ := strings.Cut(pair, "=")
		kind, of, _ := strings.Cut(key, ":")
		switch kind {
		case "storm":
			info.StormVersion = value
		case "bullet":
			info.BulletVersion = value
		case "java":
			info.JavaVersion = value
		case "plugin":
			info.PluginVersion = value
		case "set":
			info.Settings[of] = value
		case "comp":
			components[of] = componentInfo(of, strings.Split(value, "/"))
			info.Components = append(info.Components, components[of])
		case "in":
			v := strings.Split(value, "/")
			components[of].Inputs = append(components[of].Inputs, &bulletmetricsv1.ComponentInput{Component: v[0],
				Stream: v[1], Grouping: v[2]})
		}
	}
	return info
}

func componentInfo(name string, v []string) *bulletmetricsv1.ComponentInfo {
	c := &bulletmetricsv1.ComponentInfo{Name: name,
		Kind: bulletmetricsv1.ComponentKind(bulletmetricsv1.ComponentKind_value["COMPONENT_KIND_"+
			strings.ToUpper(v[0])]),
		Parallelism: uint32(integer(v[1]))}
	first, last, _ := strings.Cut(v[2], "-")
	for id := integer(first); id <= integer(last); id++ {
		c.Tasks = append(c.Tasks, int32(id))
	}
	for i, amount := range []*float64{&c.CpuPercent, &c.OnHeapMib, &c.OffHeapMib} {
		*amount, _ = strconv.ParseFloat(v[3+i], 64)
	}
	return c
}

func annotationOf(f []string) *bulletmetricsv1.Annotation {
	ms := func(text string) int64 {
		if text == "-" {
			return 0
		}
		return t0 + 1000*integer(text)
	}
	text := func(s string) string { return strings.TrimPrefix(s, "-") }
	a := &bulletmetricsv1.Annotation{Id: text(f[0]), TimeMs: ms(f[1]), EndTimeMs: ms(f[2]),
		Title: text(strings.Join(f[4:], " ")), Topology: "t"}
	if f[3] != "-" {
		a.Tags = strings.Split(f[3], ",")
	}
	return a
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func (p *script) registry() *Registry {
	o := DefaultOptions("x")
	o.Now = func() time.Time { return time.UnixMilli(p.clock) }
	return &Registry{options: o, state: p.s}
}

// show returns what the registry would answer, in one or two lines per item.
func (p *script) show(f []string) string {
	out := &strings.Builder{}
	say := func(format string, args ...any) { fmt.Fprintf(out, "> "+format+"\n", args...) }
	switch f[0] {
	case "annotations":
		for _, a := range p.registry().Annotations(Filter{ToMs: 1 << 60}) {
			say("%s %s [%s] %s (%s)", seconds(a.TimeMs), seconds(a.EndMs), strings.Join(a.Tags, " "), a.Title, a.Origin)
			for _, line := range strings.Split(a.Text, "\n") {
				if line != "" {
					say("    %s", line)
				}
			}
		}
	case "topology":
		t, ok := p.registry().Topology(f[1], "")
		require.True(p.t, ok)
		say("%s alive=%v versions=%v parallelism=%d cpu=%v memory=%v runs=%d", t.ID, t.Alive, t.Versions,
			t.Resources.Totals.Parallelism,
			t.Resources.Totals.CPUCores, t.Resources.Totals.TotalMemoryMiB, len(t.Runs))
		for _, w := range t.Workers {
			say("worker %s pid=%d alive=%v restarts=%d %v", w.Worker, w.Pid, w.Alive, w.Restarts, w.Components)
		}
		for _, h := range t.Hosts {
			say("host %s %v %d tasks", h.Host, h.Workers, h.Tasks)
		}
		if len(t.Unplaced) > 0 {
			say("unplaced %v", t.Unplaced)
		}
		for _, x := range t.Producers {
			say("producer %s task=%d connected=%v", x.Worker, x.Task, x.Connected)
		}
	case "tasks":
		counts := p.s.topologies[f[1]].placement()
		for _, of := range slices.SortedFunc(maps.Keys(counts), func(a, b workerTasks) int {
			return cmp.Or(comparePlaces(a.place, b.place), cmp.Compare(a.component, b.component))
		}) {
			say("%s %s %d", of.place, of.component, counts[of])
		}
		if how, at, _ := p.s.ending(p.s.topologies[f[1]], p.clock, p.s.times); how != "" {
			say("%s at %s", how, seconds(at))
		}
	case "condition":
		var conditions []Condition
		for _, run := range p.s.topologies[f[1]].runs {
			shown, _ := p.registry().Topology(f[1], run.id)
			conditions = append(conditions, shown.Condition)
		}
		for _, c := range conditions {
			since, err := time.Parse(time.RFC3339, c.Since)
			require.NoError(p.t, err)
			say("%s", strings.TrimSpace(fmt.Sprintf("%s since %s %s %s", c.State, seconds(since.UnixMilli()), c.By,
				c.Annotation)))
		}
	case "clients":
		for _, key := range p.s.clientKeys() {
			c := p.s.clients[key]
			say("%s %s heard %s stopped %s", key.topology, key.place, seconds(c.heardMs), seconds(c.stoppedMs))
		}
	case "dropped":
		for _, reason := range slices.Sorted(keysOf(p.s.dropped)) {
			say("%s %d", reason, p.s.dropped[reason])
		}
	}
	return out.String()
}

// seconds formats a time since the script's beginning, with as many digits as necessary.
func seconds(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return number(float64(ms-t0)/1000) + "s"
}

func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			p := newScript(t, scriptLimits(string(text)))
			got := p.run(string(text))
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			require.Equal(t, string(text), got)
			p.assertRestartChangesNothing()

			p = newScript(t, scriptLimits(string(text)))
			p.blocks = true
			require.Equal(t, string(text), p.run(string(text)), "reports as blocks")
			p.assertRestartChangesNothing()
		})
	}
}

// scriptLimits returns the default limits, changed by a first line such as "# limits: workers=2 ...".
func scriptLimits(text string) Limits {
	l := DefaultOptions("x").Limits
	first, _, _ := strings.Cut(text, "\n")
	settings, limited := strings.CutPrefix(first, "# limits:")
	if !limited {
		return l
	}
	for _, pair := range strings.Fields(settings) {
		key, value, _ := strings.Cut(pair, "=")
		n := int(integer(value))
		switch key {
		case "topologies":
			l.Topologies = n
		case "runs":
			l.Runs = n
		case "workers":
			l.Workers = n
		case "tasks":
			l.Tasks = n
		case "producers":
			l.Producers = n
		case "components":
			l.Components = n
		case "settings":
			l.Settings = n
		case "annotations":
			l.Annotations = n
		case "bytes":
			l.AnnotationBytes = n
		case "age":
			l.AnnotationAge = time.Duration(n) * time.Second
		default:
			panic(key)
		}
	}
	return l
}

// run plays a script, and returns it with the current output of its commands.
func (p *script) run(text string) string {
	out := &strings.Builder{}
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			out.WriteString(p.play(line))
		}
	}
	return out.String()
}

// assertRestartChangesNothing saves and restores the registry at many positions of the journal and continues from
// there. The same journal must always give the same registry.
func (p *script) assertRestartChangesNothing() {
	want := p.s.snapshot()
	for cut := 0; cut <= len(p.entries); cut += 1 + len(p.entries)/50 {
		first := newState(p.s.limits, p.s.times)
		var defined []journal.Entry
		for _, e := range p.entries[:cut] {
			first.apply(e)
			switch e.(type) {
			case *journal.SeriesDefined, *journal.LayoutDefined, *journal.ProducerDefined:
				defined = append(defined, e)
			}
		}
		restored, err := restoreState(first.snapshot(), p.s.limits, p.s.times)
		require.NoError(p.t, err)
		require.Equal(p.t, first.snapshot(), restored.snapshot(), "restored after %d entries", cut)
		for _, e := range append(defined, p.entries[cut:]...) {
			restored.apply(e)
		}
		require.Equal(p.t, want, restored.snapshot(), "restarted after %d of %d entries", cut, len(p.entries))
	}
}

// The registry forgets series and layouts that the journal forgot, and still applies batches of the remaining ones.
func TestForgottenSourcesGo(t *testing.T) {
	all := newSources()
	for id := range journal.SeriesID(4) {
		raw := metric.Raw{Worker: metric.Worker{Host: "h"}, Component: "c", Task: int32(id / 2), IntervalMs: 10_000}
		all.define(&journal.SeriesDefined{ID: id + 1, Series: raw})
	}
	all.layOut(&journal.LayoutDefined{ID: 1, Series: []journal.SeriesID{1, 2, 3, 4}})
	all.forget(&journal.Forgotten{Series: []journal.SeriesID{1, 2, 3, 99}, Layouts: []journal.LayoutID{1, 7}})
	require.Len(t, all.bySeries, 1)
	require.Len(t, all.unique, 1)
	require.Empty(t, all.byLayout)
	require.Len(t, all.seenIn(&journal.Batch{IDs: []journal.SeriesID{1, 4}, TimesMs: []int64{5, 6}}), 1)
}
