package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a process that is measured.
type server struct {
	command *exec.Cmd
	base    string // of its HTTP
	grpc    string
	pprof   string
	log     string
	begun   time.Duration // its CPU when it was ready
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // no loopback
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts the collector over a directory and waits until it is ready.
func serve(ctx context.Context, s settings, more ...string) (*server, error) {
	v := &server{base: "http://" + freeAddress(), grpc: freeAddress(), log: filepath.Join(s.dir, "log")}
	arguments := []string{"serve", "--data-dir", filepath.Join(s.dir, "data"), "--grpc-listen", v.grpc, "--http-listen", strings.TrimPrefix(v.base, "http://"),
		"--limits-streams", "1000", "--shutdown-timeout", "5m", "--rules-builtin=false"}
	if s.pprof != "" {
		v.pprof = freeAddress()
		arguments = append(arguments, "--pprof", v.pprof)
	}
	return v, v.start(ctx, s.program, append(arguments, more...), "/-/ready")
}

// started are the servers of the scenario at hand.
var started []*exec.Cmd

// endAll kills what a scenario that failed left behind: the next one begins in its directory.
func endAll() {
	for _, command := range started {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	started = nil
}

func (v *server) start(ctx context.Context, program string, arguments []string, ready string) error {
	if err := os.MkdirAll(filepath.Dir(v.log), 0o750); err != nil {
		return err
	}
	log, err := os.OpenFile(v.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer log.Close()
	v.command = exec.Command(program, arguments...)
	v.command.Stdout, v.command.Stderr = log, log
	if err := v.command.Start(); err != nil {
		return err
	}
	started = append(started, v.command)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := v.get(ready); err == nil {
			v.begun, _ = v.cpu()
			return nil
		}
		if v.command.Process.Signal(syscall.Signal(0)) != nil {
			return fmt.Errorf("%s ended at its start: see %s", program, v.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// plain asks for answers as they are: compressing them would be on the server's account.
var plain = &http.Client{Transport: &http.Transport{DisableCompression: true}}

func (v *server) get(path string) ([]byte, error) {
	response, err := plain.Get(v.base + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %.300s", path, response.Status, body)
	}
	return body, err
}

// cpu is what the process has used so far.
func (v *server) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	rest := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.ParseInt(rest[11], 10, 64)
	system, _ := strconv.ParseInt(rest[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, nil // USER_HZ is 100 on every Linux
}

// residentBytes is the memory that the process has now.
func (v *server) residentBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", v.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// figure is the sum of a metric's samples of /metrics whose line contains all parts.
func (v *server) figure(name string, parts ...string) (float64, error) {
	body, err := v.get("/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
next:
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

// awaitSliced waits until so many samples are in slices.
func (v *server) awaitSliced(ctx context.Context, samples int) error {
	return v.await(ctx, samples, "bullet_metrics_feed_samples", `fate="in_slices"`)
}

// awaitDefined waits until the feed knows so many series, none of which the catalogue has a name for.
func (v *server) awaitDefined(ctx context.Context, series int) error {
	return v.await(ctx, series, "bullet_metrics_feed_unknown_series")
}

// await waits until a figure has reached a number.
func (v *server) await(ctx context.Context, number int, name string, parts ...string) error {
	for {
		n, err := v.figure(name, parts...)
		if err != nil {
			return err
		}
		if int(n) >= number {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// query asks for one number.
func (v *server) query(expression string, at time.Time) (float64, error) {
	body, err := v.get("/api/v1/query?" + url.Values{"query": {expression}, "time": {strconv.FormatInt(at.Unix(), 10)}}.Encode())
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) != 1 {
		return 0, fmt.Errorf("%s has %d results", expression, len(answer.Data.Result))
	}
	return strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
}

// rangeCPU is what a range query costs the server, the least of three times.
func (v *server) rangeCPU(expression string, start, end time.Time, step time.Duration) (least time.Duration, err error) {
	path := "/api/v1/query_range?" + url.Values{"query": {expression}, "start": {strconv.FormatInt(start.Unix(), 10)},
		"end": {strconv.FormatInt(end.Unix(), 10)}, "step": {strconv.Itoa(int(step.Seconds()))}, "nocache": {"1"}}.Encode()
	for i := range 3 {
		before, err := v.cpu()
		if err != nil {
			return 0, err
		}
		if _, err := v.get(path); err != nil {
			return 0, err
		}
		after, err := v.cpu()
		if err != nil {
			return 0, err
		}
		if i == 0 || after-before < least {
			least = after - before
		}
	}
	return least, nil
}

// end stops the process and returns the CPU since it was ready, and the bytes that it had written to the disk.
func (v *server) end() (cpu time.Duration, written int64, err error) {
	if err := v.command.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	if err := v.command.Wait(); err != nil {
		return 0, 0, fmt.Errorf("%w: see %s", err, v.log)
	}
	state := v.command.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return state.UserTime() + state.SystemTime() - v.begun, usage.Oublock * 512, nil
}

// bytesIn is what files below a directory take.
func bytesIn(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
