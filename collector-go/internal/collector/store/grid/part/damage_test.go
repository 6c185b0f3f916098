package part

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// someSeries returns the same series each time: 300 series of one metric with hosts, and some others.
func someSeries() []one {
	all := rapid.Custom(func(t *rapid.T) []one { return drawSeries(t, 200) }).Example(3)
	values := walks(300, 90)
	for i := range values {
		values[i][i%90] = math.Float64frombits(0x7ff0000000000002)
		l := labels.FromStrings("__name__", "up", "host", "h"+string(rune('0'+i/100))+string(rune('0'+i/10%10))+
			string(rune('0'+i%10)), "zone", "z")
		all = append(all, one{l, []run.Run{{FirstMs: int64(i), StepMs: 1000, Values: values[i]}}})
	}
	return all
}

// damaged writes a part of someSeries with pages of 500 bytes, and lets change modify its bytes.
func damaged(t require.TestingT, change func(p *Part, b []byte)) (*disktest.Memory, []one) {
	all, whole := wholePart()
	fs := disktest.NewMemory(1)
	fs.Put("part", whole)
	p := open(t, fs, "part")
	defer p.Close()
	b := append([]byte(nil), whole...)
	change(p, b)
	fs.Put("part", b)
	return fs, all
}

var wholePart = sync.OnceValues(func() ([]one, []byte) {
	fs := disktest.NewMemory(1)
	all := someSeries()
	write(panicking{}, fs, "part", WriterOptions{PageBytes: 500, Levels: true}, all)
	return all, fs.Bytes("part")
})

// panicking is a require.TestingT that can be used outside of a test.
type panicking struct{}

func (panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panicking) FailNow()                          { panic("failed") }

// costs returns what a damaged part no longer has, as the number of lost slices by series. It requires that all loss is
// reported.
func costs(t require.TestingT, p *Part, all []one) (lost map[string]int, reported []*run.DamageError) {
	lost = map[string]int{}
	found, err := p.Select(context.Background(), math.MinInt64, math.MaxInt64, nil)
	var damage *run.DamageError
	if errors.As(err, &damage) {
		reported = append(reported, damage)
	} else {
		require.NoError(t, err)
	}
	for _, s := range all {
		key := s.labels.String()
		want := knownTwin(key, s.runs)
		if len(want) == 0 {
			continue
		}
		if len(found) == 0 || !labels.Equal(found[0].Labels, s.labels) {
			require.Error(t, err, "%s is missing", key)
			lost[key] = len(want)
			continue
		}
		runs, err := found[0].Reader.Runs(found[0].Ref, math.MinInt64, math.MaxInt64, nil)
		got := twinOf(runs)
		if err != nil {
			require.ErrorAs(t, err, &damage)
			reported = append(reported, damage)
		}
		for at, v := range want {
			if have, there := got[at]; there {
				if have != v {
					require.Equal(t, v, have)
				}
				delete(got, at)
				continue
			}
			require.Error(t, err, "%s at %d is missing", key, at.ms)
			require.True(t, at.ms >= damage.FromMs && at.ms <= damage.ToMs)
			lost[key]++
		}
		require.Empty(t, got, "invented")
		found = found[1:]
	}
	require.Empty(t, found, "invented")
	return lost, reported
}

var twins sync.Map

// knownTwin returns twinOf(runs), which it computes once for each key.
func knownTwin(key string, runs []run.Run) twin {
	if w, known := twins.Load(key); known {
		return w.(twin)
	}
	w := twinOf(runs)
	twins.Store(key, w)
	return w
}

// reports returns the damage that Check reports.
func reports(t require.TestingT, p *Part) (all []*run.DamageError) {
	require.NoError(t, p.Check(func(d *run.DamageError) { all = append(all, d) }))
	return all
}

func TestDamagedPageCostsItself(t *testing.T) {
	const page = 7
	fs, all := damaged(t, func(p *Part, b []byte) {
		e, err := p.entry(page)
		require.NoError(t, err)
		b[e.offset+5] ^= 4
	})
	p := open(t, fs, "part")
	lost, reported := costs(t, p, all)
	assert.NotEmpty(t, lost)
	assert.Less(t, len(lost), 40)
	assert.Len(t, reported, len(lost))
	for _, d := range reported {
		assert.Contains(t, lost, d.Labels)
		assert.Equal(t, "part", d.File)
		assert.Contains(t, d.What, "page 7 at")
	}
	found := reports(t, p)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, "page 7 at")
	assert.Contains(t, found[0].Labels, "more series")

	var read int
	err := p.Each(func(labels.Labels, []run.Run) error { read++; return nil })
	var damage *run.DamageError
	require.ErrorAs(t, err, &damage)
	assert.Greater(t, read, 200)

	w, err := Create(fs, "merged", WriterOptions{})
	require.NoError(t, err)
	require.ErrorAs(t, Merge(t.Context(), w, []*Part{p}), &damage, "merging makes no damage silent")
}

func TestDamagedSeriesBlockCostsItsSeries(t *testing.T) {
	fs, all := damaged(t, func(p *Part, b []byte) {
		e, err := p.entry(p.footer.pages + 2)
		require.NoError(t, err)
		b[e.offset+9] ^= 1
	})
	p := open(t, fs, "part")
	lost, reported := costs(t, p, all)
	assert.Len(t, lost, seriesInBlock)
	require.Len(t, reported, 1)
	assert.Equal(t, "series 128 to 191", reported[0].Labels)
	found := reports(t, p)
	require.Len(t, found, 1)
	assert.Equal(t, reported[0], found[0])
	var read int
	require.Error(t, p.Each(func(labels.Labels, []run.Run) error { read++; return nil }))
	assert.Equal(t, p.Info().Series-seriesInBlock, read)
}

func TestDamagedIndexOfValuesCostsNothing(t *testing.T) {
	fs, all := damaged(t, func(p *Part, b []byte) {
		for i := range p.footer.lists + 1 {
			e, err := p.entry(p.footer.pages + p.footer.blocks + i)
			require.NoError(t, err)
			b[e.offset+1] ^= 1
		}
	})
	p := open(t, fs, "part")
	lost, reported := costs(t, p, all)
	assert.Empty(t, lost)
	assert.Empty(t, reported)
	ctx := context.Background()
	found, err := p.Select(ctx, 0, 1e9, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "host", "h123")})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	names, err := p.LabelNames(ctx, nil)
	require.NoError(t, err)
	assert.Contains(t, names, "zone")
	values, err := p.LabelValues(ctx, "zone", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"z"}, values)
	assert.Len(t, reports(t, p), int(p.footer.lists)+1)
}

func TestDamagedFooterCostsThePart(t *testing.T) {
	for back := 1; back <= footerBytes; back++ {
		fs, _ := damaged(t, func(p *Part, b []byte) { b[len(b)-back] ^= 0x10 })
		_, err := Open(fs, "part")
		require.Error(t, err)
		var damage *run.DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, "footer", damage.What)
	}
	fs, _ := damaged(t, func(p *Part, b []byte) { b[len(b)-1] = version + 1 })
	_, err := Open(fs, "part")
	require.ErrorContains(t, err, "newer")
}

func TestAnyDamageIsReportedAndNothingInvented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs, all := damaged(t, func(p *Part, b []byte) {
			for range rapid.IntRange(1, 4).Draw(t, "slots") {
				from := rapid.IntRange(0, len(b)-footerBytes-1).Draw(t, "from")
				to := min(len(b)-footerBytes, from+rapid.SampledFrom([]int{1, 30, 512, 5000}).Draw(t, "length"))
				for i := range b[from:to] {
					b[from+i] = rapid.SampledFrom([]byte{0, b[from+i] ^ 8}).Draw(t, "byte")
				}
			}
		})
		p := open(t, fs, "part")
		lost, reported := costs(t, p, all)
		found := reports(t, p)
		require.Equal(t, len(lost) > 0, len(reported) > 0)
		if len(reported) > 0 {
			require.NotEmpty(t, found)
		}
		for range 3 {
			matchers := drawMatchers(t)
			series, err := p.Select(context.Background(), 0, 1e6, matchers)
			if len(lost) == 0 {
				require.NoError(t, err)
			}
			for _, s := range series {
				require.True(t, matches(s.Labels, matchers))
			}
		}
	})
}

func TestTruncatedPartIsRefused(t *testing.T) {
	fs, _ := damaged(t, func(*Part, []byte) {})
	whole := fs.Bytes("part")
	for _, size := range []int{0, 1, 8, footerBytes, len(whole) / 2, len(whole) - 1} {
		fs.Put("part", whole[:size])
		_, err := Open(fs, "part")
		var damage *run.DamageError
		require.ErrorAs(t, err, &damage)
	}
}

func TestClosedPartIsNotDamage(t *testing.T) {
	dir := t.TempDir()
	all := cpuSeries(20)
	writeFile(t, dir+"/part", all, walks(10, 60), 0)
	p := openFile(t, dir+"/part")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	var damage *run.DamageError
	_, err := p.Select(context.Background(), 0, 1e6, nil)
	require.Error(t, err)
	require.False(t, errors.As(err, &damage))
	_, err = p.Runs(0, 0, 1e6, nil)
	require.Error(t, err)
	require.False(t, errors.As(err, &damage))
	_, err = p.LabelValues(context.Background(), "hostname", nil)
	require.Error(t, err)
}

// readAll reads everything in every way. It must not panic, whatever the bytes.
func readAll(b []byte) {
	fs := disktest.NewMemory(1)
	fs.Put("part", b)
	p, err := Open(fs, "part")
	if err != nil {
		return
	}
	ctx := context.Background()
	_ = p.Check(func(*run.DamageError) {})
	_ = p.Each(func(labels.Labels, []run.Run) error { return nil })
	for _, matchers := range [][]*labels.Matcher{
		nil,
		{labels.MustNewMatcher(labels.MatchEqual, "host", "host-1")},
		{labels.MustNewMatcher(labels.MatchRegexp, "host", "h.*1.*")},
	} {
		found, _ := p.Select(ctx, 0, 50_000, matchers)
		for _, f := range found[:min(len(found), 300)] {
			_, _ = p.Runs(f.Ref, 0, 50_000, nil)
			for _, levelMs := range run.LevelsMs {
				_, _ = p.Extremes(f.Ref, levelMs, true, 0, 1e8)
				_, _ = p.Extremes(f.Ref, levelMs, false, 0, 60_000)
			}
		}
	}
	_, _ = p.LabelNames(ctx, nil)
	_, _ = p.LabelValues(ctx, "host", nil)
}

// reseal recomputes all checksums that are still at their positions.
func reseal(b []byte) {
	if len(b) < footerBytes {
		return
	}
	foot := b[len(b)-footerBytes:]
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(foot[8*i:]) }
	entries, offset := at(4)+at(5)+at(6)+1, at(7)
	if entries < uint64(len(b)) {
		for number := uint64(0); number*chunkEntries < entries; number++ {
			start := offset + number*chunkBytes
			size := min(entries-number*chunkEntries, chunkEntries) * entryBytes
			if start > uint64(len(b)) || start+size+4 > uint64(len(b)) {
				break
			}
			chunk := b[start : start+size]
			for i := 0; i < len(chunk); i += entryBytes {
				if e := readEntry(chunk[i:]); e.offset < uint64(len(b)) && e.offset+uint64(e.length) <= uint64(len(b)) {
					binary.LittleEndian.PutUint32(chunk[i+12:], checksum(b[e.offset:e.offset+uint64(e.length)]))
				}
			}
			binary.LittleEndian.PutUint32(b[start+size:], chunkSum(number, chunk))
		}
	}
	sum := crc32.Update(checksum(foot[:footerBytes-12]), castagnoli, foot[footerBytes-8:])
	binary.LittleEndian.PutUint32(foot[footerBytes-12:], sum)
}

// smallPart returns a valid part of few bytes, none of which are compressed.
func smallPart(t require.TestingT) []byte {
	fs := disktest.NewMemory(1)
	all := someSeries()
	write(t, fs, "part", WriterOptions{PageBytes: 200, Levels: true}, all[:min(len(all), 40)])
	return fs.Bytes("part")
}

// FuzzPart reads a part after some of its bytes were changed. Of each four bytes in changes, three are a position and
// one is the change. If sealed is set, checksums are recomputed, since most damage would otherwise never reach the
// decoders.
func FuzzPart(f *testing.F) {
	whole := smallPart(f)
	f.Add([]byte{}, true)
	f.Add([]byte{0, 1, 0, 7}, false)
	for i := 0; i < len(whole); i += 97 {
		f.Add([]byte{byte(i >> 16), byte(i >> 8), byte(i), 0xff}, true)
	}
	f.Fuzz(func(t *testing.T, changes []byte, sealed bool) {
		b := append([]byte(nil), whole...)
		for ; len(changes) >= 4; changes = changes[4:] {
			at := int(changes[0])<<16 | int(changes[1])<<8 | int(changes[2])
			b[at%len(b)] ^= changes[3]
		}
		if sealed {
			reseal(b)
		}
		readAll(b)
	})
}

// FuzzBytes reads arbitrary bytes with a footer that is valid for them.
func FuzzBytes(f *testing.F) {
	f.Add([]byte{}, smallPart(f))
	f.Fuzz(func(t *testing.T, _, b []byte) {
		b = append([]byte(nil), b...)
		if len(b) >= footerBytes {
			copy(b[len(b)-8:], append([]byte(footerMagic), version))
			binary.LittleEndian.PutUint64(b[len(b)-footerBytes+64:], uint64(len(b)))
		}
		reseal(b)
		readAll(b)
	})
}

func FuzzIndexBlocks(f *testing.F) {
	fs, _ := damaged(f, func(*Part, []byte) {})
	p := open(f, fs, "part")
	for i := range p.footer.blocks + p.footer.lists + 1 {
		b, _, err := p.load(p.footer.pages + i)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, series := range []int{64, 3} {
			_, _ = readColumns(b, series, 100)
			if l, err := readLabels(b, series); err == nil {
				var build labels.ScratchBuilder
				for l.next() {
					l.labels(&build)
				}
			}
		}
		_, _ = readNames(b, 20)
		set := newBlockSet(100)
		_ = eachValue(b, func(_ []byte, spans varint.Reader) bool { set.addSpans(spans, 100); return true })
		_, _ = unwrap(b)
	})
}
