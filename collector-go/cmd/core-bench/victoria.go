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
)

func victoriaOwnSlice(ctx context.Context, s settings) error {
	return intoVictoria(ctx, s, shape{hosts: 4000, metrics: 10, steps: int(720 * s.scale), step: 10 * time.Second, back: 22 * time.Hour}, nil)
}

func victoriaDay(ctx context.Context, s settings) error {
	sh := shape{hosts: 500, metrics: 20, steps: int(8280 * s.scale), step: 10 * time.Second, doubles: true, back: 23*time.Hour + 30*time.Minute}
	return intoVictoria(ctx, s, sh, func(v *server, end time.Time) error { return queries(v, end, "cpu_usage_user", "cpu_usage_system") })
}

func startVictoria(ctx context.Context, s settings) (*server, error) {
	v := &server{base: "http://" + freeAddress(), log: filepath.Join(s.dir, "log")}
	return v, v.start(ctx, s.victoria, []string{"-storageDataPath=" + filepath.Join(s.dir, "data"), "-httpListenAddr=" + strings.TrimPrefix(v.base, "http://"),
		"-retentionPeriod=100y", "-search.maxUniqueTimeseries=2000000", "-search.disableCache"}, "/health")
}

// intoVictoria sends the same rows as Influx lines, 1,000 a request over four connections.
func intoVictoria(ctx context.Context, s settings, sh shape, after func(*server, time.Time) error) error {
	v, err := startVictoria(ctx, s)
	if err != nil {
		return err
	}
	stepMs := sh.step.Milliseconds()
	startMs := (time.Now().UnixMilli()-sh.back.Milliseconds())/600_000*600_000 + stepMs
	l := newLoad(sh.hosts, sh.metrics, sh.steps, startMs, stepMs)
	l.doubles = sh.doubles
	requests := make(chan []byte, 4)
	failures := make(chan error, 4)
	var posting sync.WaitGroup
	for range 4 {
		posting.Go(func() {
			for body := range requests {
				if err := v.post(body); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	begun := time.Now()
	for step := range sh.steps {
		l.next()
		stamp := strconv.FormatInt((startMs+int64(step)*stepMs)*1_000_000, 10)
		for first := 0; first < sh.hosts; first += 1000 {
			body := l.lines(first, min(first+1000, sh.hosts), stamp)
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
	resident, err := v.residentBytes()
	if err != nil {
		return err
	}
	cpu, written, err := v.end()
	if err != nil {
		return err
	}
	if v, err = startVictoria(ctx, s); err != nil {
		return err
	}
	for metric := range sh.metrics {
		if err := v.counts(storedName(metric), end.UnixMilli()-startMs+1, end, sh.hosts*sh.steps); err != nil {
			return err
		}
	}
	n, err := bytesIn(filepath.Join(s.dir, "data"))
	if err != nil {
		return err
	}
	say("samples sent", "%d", l.samples())
	say("taken after", "%.1f s by the clock", acknowledged.Seconds())
	say("CPU until all is on disk", "%.2f s: %.2f M samples a CPU-second, %.1f ns a sample", cpu.Seconds(), float64(l.samples())/1e6/cpu.Seconds(), float64(cpu.Nanoseconds())/float64(l.samples()))
	say("memory when all was taken", "%d MiB", resident>>20)
	say("bytes on disk", "%.2f a sample (%.1f MiB)", float64(n)/float64(l.samples()), float64(n)/(1<<20))
	say("bytes written to the disk", "%.2f a sample", float64(written)/float64(l.samples()))
	if after != nil {
		if err := after(v, end); err != nil {
			return err
		}
	}
	_, _, err = v.end()
	return err
}

func (v *server) post(body []byte) error {
	response, err := http.Post(v.base+"/write", "text/plain", bytes.NewReader(body))
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
func (l *load) lines(first, last int, stamp string) []byte {
	var to []byte
	for h := first; h < last; h++ {
		to = fmt.Appendf(to, "cpu,hostname=host_%d,region=eu-west-1,datacenter=eu-west-1c,rack=%d,os=Ubuntu16.04LTS,arch=x86,team=SF,service=%d,service_version=1,service_environment=test ", h, h%100, h%20)
		for metric := range l.metrics {
			if metric > 0 {
				to = append(to, ',')
			}
			to = append(append(to, strings.TrimPrefix(fieldName(metric), "cpu.")...), '=')
			to = strconv.AppendFloat(to, l.now[h*l.metrics+metric], 'g', -1, 64)
		}
		to = append(append(append(to, ' '), stamp...), '\n')
	}
	return to
}
