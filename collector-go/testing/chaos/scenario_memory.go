package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// littleMemory are the limits of control groups, and how many series of one topology do not fit.
var littleMemory = []struct {
	sets  int
	limit int64
}{{200_000, 256 << 20}, {100_000, 128 << 20}}

// memoryRounds is how often each label set is sent: slices close, and checkpoints are written meanwhile.
const memoryRounds = 5

// playLittleMemory sends one topology of so many series to a collector whose settings are the defaults and whose heap
// is bounded as a control group of so many bytes bounds it. The process must stay within that, refuse what does not
// fit, and keep what it acknowledged.
func playLittleMemory(ctx context.Context, g *Ground, sets int, limit int64) (o Outcome, err error) {
	dir, err := g.Directory(fmt.Sprintf("memory-%d", limit))
	if err != nil {
		return o, err
	}
	c, err := g.Start(ctx, Settings{DataDir: dir, Environment: []string{fmt.Sprintf("GOMEMLIMIT=%d", limit/10*8)}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	if err := c.ForgetPeak(); err != nil {
		return o, err
	}
	attack := &cardinalityAttack{sets: sets, pace: g.Duration(5*time.Second, 2*time.Second)}
	took, err := attack.play(ctx, c.GRPC(), memoryRounds)
	if err != nil {
		return o, err
	}
	counted, err := c.Figure("bullet_metrics_ingest_rejected_samples_total", `reason="series_limit"`)
	if err != nil {
		return o, err
	}
	if counted == 0 || int64(counted) != attack.rejected {
		o.Broken = append(o.Broken, fmt.Sprintf("%d samples were refused, %.0f are counted", attack.rejected, counted))
	}
	series := attack.taken / memoryRounds
	if _, err := c.awaitCount(ctx, "wide", series); err != nil {
		return o, err
	}
	peak, err := c.heldAtMost()
	if err != nil {
		return o, err
	}
	if peak > limit {
		o.Broken = append(o.Broken, fmt.Sprintf("%d series took %d MiB of memory, at most %d", sets, peak>>20, limit>>20))
	}
	c.Kill()
	if err := c.Again(ctx); err != nil {
		return o, err
	}
	if _, err := c.awaitAnswers(ctx); err != nil {
		return o, err
	}
	stored, err := c.awaitCount(ctx, "wide", series)
	if err != nil {
		return o, err
	}
	again, err := c.heldAtMost()
	if err != nil {
		return o, err
	}
	if again > limit {
		o.Broken = append(o.Broken, fmt.Sprintf("started again it took %d MiB of memory, at most %d", again>>20, limit>>20))
	}
	o.Tries, o.Acknowledged = 1, attack.taken
	o.Lost = max(0, series-stored)
	o.Doubled = max(0, stored-series)
	o.Measured = append(o.Measured, fmt.Sprintf("%d series with the defaults in %d MiB: %d samples taken, %d refused, %.1f s; %d MiB at most, %d after a kill",
		sets, limit>>20, attack.taken, attack.rejected, took.Seconds(), peak>>20, again>>20))
	return o, nil
}

// heldAtMost is the most memory that the process has had, less pages of files, which the kernel takes back before it
// kills a process for want of memory.
func (c *Collector) heldAtMost() (int64, error) {
	peak, err := c.statusBytes("VmHWM")
	if err != nil {
		return 0, err
	}
	files, err := c.statusBytes("RssFile")
	return peak - files, err
}

// awaitCount waits until so many series of a topology are stored, and returns how many are.
func (c *Collector) awaitCount(ctx context.Context, topology string, want int64) (int64, error) {
	limit := time.Now().Add(answerLimit)
	query := url.Values{"query": {fmt.Sprintf(`count(count_over_time({topology=%q,__name__=~".*wide.*"}[10m]))`, topology)}}
	for {
		body, err := c.Get(ctx, "/api/v1/query?"+query.Encode())
		if err != nil {
			return 0, err
		}
		var answer struct {
			Data struct{ Result []struct{ Value []any } }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return 0, err
		}
		found := int64(0)
		if len(answer.Data.Result) > 0 {
			found, _ = strconv.ParseInt(fmt.Sprint(answer.Data.Result[0].Value[1]), 10, 64)
		}
		if found >= want || time.Now().After(limit) {
			return found, nil
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
