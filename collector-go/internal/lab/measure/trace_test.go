package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// answers is a submitter whose result is a function of a query's number and text.
type answers struct {
	asked []string
	give  func(n int, bql string) (load.Answer, error)
}

func (a *answers) Query(_ context.Context, bql string) (load.Answer, error) {
	a.asked = append(a.asked, bql)
	return a.give(len(a.asked), bql)
}

func record(fields, meta string) load.Answer {
	return load.Answer{Records: []json.RawMessage{json.RawMessage("{" + fields + "}")}, Meta: json.RawMessage(meta)}
}

func flowing(queries int) traceOptions {
	return traceOptions{Queries: queries, Duration: time.Second, Grace: time.Second}
}

const meta = `{"Query":{"Receive Time":1000,"Finish Time":1004,"ID":"x"}}`

func TestATraceIsReadFromTheAnswer(t *testing.T) {
	complete := record(`"event_time_ms":900,"kafka_received_ms":905,"bullet_received_ms":995.0,"bullet_filtered_ms":998,"country":"v-a1"`,
		meta)
	bare := record(`"event_time_ms":-1,"kafka_received_ms":null,"country":"v-a1"`, meta)
	target := &answers{give: func(n int, _ string) (load.Answer, error) {
		return map[int]load.Answer{1: complete, 2: bare, 3: {Meta: json.RawMessage(meta)}}[n], nil
	}}
	var outcomes []load.Outcome
	p := tracer{flowing(3), target, func(o load.Outcome) { outcomes = append(outcomes, o) }}
	before := fractionalMs(time.Now())
	traces, err := p.Run(context.Background())
	require.NoError(t, err)
	require.Len(t, traces, 2, "the third found nothing")
	for stage, at := range map[string]float64{tuning.RecordMade: 900, tuning.KafkaReceived: 905,
		tuning.BulletReceived: 995, tuning.BulletFiltered: 998, tuning.QueryReceived: 1000,
		tuning.QueryFinished: 1004} {
		assert.Equal(t, at, traces[0].AtMs[stage], stage)
	}
	assert.Len(t, traces[0].AtMs, len(tuning.Stages))
	assert.GreaterOrEqual(t, traces[0].AtMs[tuning.QuerySubmitted], before)
	assert.GreaterOrEqual(t, traces[0].AtMs[tuning.QueryReturned], traces[0].AtMs[tuning.QuerySubmitted])
	assert.NotContains(t, traces[1].AtMs, tuning.RecordMade, "-1 is no time")
	assert.NotContains(t, traces[1].AtMs, tuning.KafkaReceived)
	assert.Equal(t, []int{1, 1, 0}, []int{outcomes[0].Records, outcomes[1].Records, outcomes[2].Records})
	assert.Equal(t, 1, outcomes[2].Missing)
	assert.Equal(t, "SELECT * FROM STREAM(1000, TIME) LIMIT 1", target.asked[0])
}

// Each query asks for a record that is not made yet, at the time that the source's Share defines.
func TestARecordIsGeneratedAfterItsQuery(t *testing.T) {
	sequence := regexp.MustCompile(`probe = 'probe-0' AND probe_sequence = (\d+) LIMIT 1$`)
	const perSecond = 5.0
	target := &answers{}
	target.give = func(_ int, bql string) (load.Answer, error) {
		found := sequence.FindStringSubmatch(bql)
		require.NotNil(t, found, bql)
		k, err := strconv.ParseInt(found[1], 10, 64)
		require.NoError(t, err)
		due := time.UnixMicro(int64(float64(k)*1e6/perSecond) + 1)
		assert.WithinRange(t, due, time.Now().Add(traceLead-100*time.Millisecond),
			time.Now().Add(traceLead+time.Second/perSecond+time.Millisecond))
		return record(fmt.Sprintf(`"event_time_ms":%d`, due.UnixMilli()), meta), nil
	}
	o := flowing(20)
	o.Generated, o.Probe, o.PerSecond = true, "probe-0", perSecond
	p := tracer{o, target, func(load.Outcome) {}}
	traces, err := p.Run(context.Background())
	require.NoError(t, err)
	assert.Len(t, traces, 20)
}

func TestAProbeStopsWhereNothingIsFound(t *testing.T) {
	target := &answers{give: func(n int, _ string) (load.Answer, error) {
		if n == 3 {
			return record(`"event_time_ms":900`, meta), nil
		}
		return load.Answer{}, errors.New("503 queue full")
	}}
	ended := 0
	p := tracer{flowing(100), target, func(o load.Outcome) { ended++ }}
	traces, err := p.Run(context.Background())
	assert.Len(t, traces, 1)
	assert.ErrorContains(t, err,
		"stopped after 10 queries in a row without a record (1 queries found one): 503 queue full")
	assert.Equal(t, 13, ended)
}

func TestTheWarmUpIsNotCounted(t *testing.T) {
	target := &answers{give: func(int, string) (load.Answer, error) { return record(`"event_time_ms":900`, meta), nil }}
	p := tracer{flowing(3), target, func(load.Outcome) { t.Error("an outcome of a query arrived") }}
	end := time.Now().Add(20 * time.Millisecond)
	require.NoError(t, p.WarmUp(context.Background(), end))
	assert.Len(t, target.asked, 1)
	assert.False(t, time.Now().Before(end))

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, p.WarmUp(ctx, time.Now().Add(time.Hour)), context.Canceled)
}

func TestAnInterruptEndsAProbe(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("Ctrl-C")
	target := &answers{give: func(n int, _ string) (load.Answer, error) {
		if n == 2 {
			cancel(why)
		}
		return record(`"event_time_ms":900`, meta), nil
	}}
	ended := 0
	p := tracer{flowing(100), target, func(load.Outcome) { ended++ }}
	traces, err := p.Run(ctx)
	require.ErrorIs(t, err, why)
	assert.Len(t, traces, 1)
	assert.Equal(t, 1, ended, "a query that was cut off is not counted")
}

func TestMetadataThatSayNothingAreAnError(t *testing.T) {
	target := &answers{give: func(int, string) (load.Answer, error) { return record(`"event_time_ms":900`, `{}`), nil }}
	p := tracer{flowing(100), target, func(load.Outcome) {}}
	_, err := p.Run(context.Background())
	assert.ErrorContains(t, err, "bullet.result.metadata.enable")
}
