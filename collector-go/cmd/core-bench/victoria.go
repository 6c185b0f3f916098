package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/bench"
)

func victoriaOwnSlice(ctx context.Context, s settings) error {
	return intoVictoria(ctx, s, shape{hosts: 4000, metrics: 10, steps: int(720 * s.scale), step: 10 * time.Second, back: 22 * time.Hour}, nil)
}

func victoriaDay(ctx context.Context, s settings) error {
	sh := shape{hosts: 500, metrics: 20, steps: int(8280 * s.scale), step: 10 * time.Second, doubles: true, back: 23*time.Hour + 30*time.Minute}
	return intoVictoria(ctx, s, sh, func(ctx context.Context, v *server, end time.Time) error {
		return queries(ctx, v, end, "cpu_usage_user", "cpu_usage_system")
	})
}

// intoVictoria sends the same rows as Influx lines, 1,000 a request over four connections.
func intoVictoria(ctx context.Context, s settings, sh shape, after func(context.Context, *server, time.Time) error) error {
	v, err := startVictoria(ctx, s)
	if err != nil {
		return err
	}
	stepMs := sh.step.Milliseconds()
	startMs := (time.Now().UnixMilli()-sh.back.Milliseconds())/600_000*600_000 + stepMs
	every := make([]int, sh.hosts)
	for h := range every {
		every[h] = h
	}
	walk := sh.rows().Walk(every)
	requests := make(chan []byte, 4)
	failures := make(chan error, 4)
	var posting sync.WaitGroup
	for range 4 {
		posting.Go(func() {
			for body := range requests {
				if err := v.post(ctx, body); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	begun := time.Now()
	for step := range sh.steps {
		walk.Next()
		stamp := strconv.FormatInt((startMs+int64(step)*stepMs)*1_000_000, 10)
		for first := 0; first < sh.hosts; first += 1000 {
			body := lines(walk, sh.metrics, first, min(first+1000, sh.hosts), stamp)
			select {
			case requests <- body:
			case err := <-failures:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	close(requests)
	posting.Wait()
	acknowledged := time.Since(begun)
	end := time.UnixMilli(startMs + int64(sh.steps-1)*stepMs)
	resident, err := v.Resident(ctx)
	if err != nil {
		return err
	}
	cpu, written, err := v.End()
	if err != nil {
		return err
	}
	if v, err = startVictoria(ctx, s); err != nil {
		return err
	}
	for metric := range sh.metrics {
		if err := v.counts(ctx, metric, end.UnixMilli()-startMs+1, end, sh.hosts*sh.steps); err != nil {
			return err
		}
	}
	n, err := bench.BytesIn(filepath.Join(s.dir, "data"))
	if err != nil {
		return err
	}
	say("samples sent", "%d", sh.samples(sh.steps))
	say("taken after", "%.1f s by the clock", acknowledged.Seconds())
	say("CPU until all is on disk", "%.2f s: %.2f M samples a CPU-second, %.1f ns a sample", cpu.Seconds(), float64(sh.samples(sh.steps))/1e6/cpu.Seconds(), float64(cpu.Nanoseconds())/float64(sh.samples(sh.steps)))
	say("memory when all was taken", "%d MiB", resident>>20)
	say("bytes on disk", "%.2f a sample (%.1f MiB)", float64(n)/float64(sh.samples(sh.steps)), float64(n)/(1<<20))
	say("bytes written to the disk", "%.2f a sample", float64(written)/float64(sh.samples(sh.steps)))
	if after != nil {
		if err := after(ctx, v, end); err != nil {
			return err
		}
	}
	_, _, err = v.End()
	return err
}

// counts holds how many points of a metric answer against how many there should be.
func (v *server) counts(ctx context.Context, metric int, windowMs int64, last time.Time, want int) error {
	name := strings.ReplaceAll(bench.Field(metric), ".", "_")
	got, err := v.Query(ctx, fmt.Sprintf("sum(count_over_time(%s[%dms]))", name, windowMs), last)
	if err == nil && int(got) != want {
		err = fmt.Errorf("%d points of %s answer, %d were sent", int(got), name, want)
	}
	return err
}

func (v *server) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.Base()+"/write", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("/write: %s", response.Status)
	}
	return err
}

// lines are the present rows of some hosts, with TSBS' ten tags.
func lines(w *bench.Walk, metrics, first, last int, stamp string) []byte {
	var to []byte
	for h := first; h < last; h++ {
		to = fmt.Appendf(to, "cpu,hostname=host_%d,%s ", h, bench.Tags(h))
		for metric := range metrics {
			if metric > 0 {
				to = append(to, ',')
			}
			to = append(append(to, strings.TrimPrefix(bench.Field(metric), "cpu.")...), '=')
			to = strconv.AppendFloat(to, w.Values[h*metrics+metric], 'g', -1, 64)
		}
		to = append(append(append(to, ' '), stamp...), '\n')
	}
	return to
}
