package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Collector is the program under trial as a process of its own. Its methods are for one goroutine, but for the asking
// ones.
type Collector struct {
	binary   string
	settings Settings
	log      string

	command *exec.Cmd
	ended   chan struct{} // closed when the process has
	failure error         // of the process, once it has ended
	ready   time.Duration
}

// Again starts a collector that has ended at the same addresses, over the same directory, and waits until it is ready.
func (c *Collector) Again(ctx context.Context) error {
	if err := c.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.AwaitReady(ctx); err != nil {
		c.Kill()
		return err
	}
	return nil
}

// Launch starts the process and waits for nothing.
func (c *Collector) Launch() error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer log.Close()
	line := append([]string{c.binary, "serve", "--data-dir", c.settings.DataDir, "--grpc-listen", c.settings.GRPC,
		"--http-listen", c.settings.HTTP,
		"--slice-width", "1s", "--slice-lateness", "2s", "--rules-builtin=false"}, c.settings.Flags...)
	if c.settings.Namespace != "" {
		line = append([]string{"ip", "netns", "exec", c.settings.Namespace}, line...)
	}
	command := exec.Command(line[0], line[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), c.settings.Environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the collector: %w", err)
	}
	ended := make(chan struct{})
	c.command, c.ended, c.failure, c.ready = command, ended, nil, 0
	go func() {
		c.failure = command.Wait()
		close(ended)
	}()
	return nil
}

// AwaitReady waits until /-/ready answers 200, and fails when the process ends before that.
func (c *Collector) AwaitReady(ctx context.Context) error {
	begun := time.Now()
	for {
		if _, err := c.Get(ctx, "/-/ready"); err == nil {
			c.ready = time.Since(begun)
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("the collector ended (%w): see %s", errors.Join(c.failure, errEnded), c.log)
		case <-ctx.Done():
			return fmt.Errorf("the collector is not ready: %w; see %s", ctx.Err(), c.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var errEnded = errors.New("before it was ready")

// ReadyAfter is how long the last start took until the collector was ready.
func (c *Collector) ReadyAfter() time.Duration { return c.ready }

// Kill ends the process by SIGKILL. It may be called again.
func (c *Collector) Kill() {
	_ = c.command.Process.Kill()
	<-c.ended
}

// Stop ends the process by SIGTERM. It returns an error where the process did not close in order.
func (c *Collector) Stop() error {
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the collector has ended by itself (%w): see %s", errors.Join(c.failure, err), c.log)
	}
	<-c.ended
	if c.failure != nil {
		return fmt.Errorf("the collector ended with %w: see %s", c.failure, c.log)
	}
	return nil
}

// Ended reports whether the process has ended by itself.
func (c *Collector) Ended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Pid is the process'.
func (c *Collector) Pid() int { return c.command.Process.Pid }

// GRPC is where samples go, HOST:PORT.
func (c *Collector) GRPC() string { return c.settings.GRPC }

// HTTP is where questions go, HOST:PORT.
func (c *Collector) HTTP() string { return c.settings.HTTP }

// DataDir is what it keeps everything in.
func (c *Collector) DataDir() string { return c.settings.DataDir }

// ResidentBytes is the memory that the process has now; 0 where it has ended.
func (c *Collector) ResidentBytes() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.Pid()))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// Descriptors is how many files, sockets and the like the process has open.
func (c *Collector) Descriptors() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Pid()))
	return len(entries)
}

// Get asks for a path; another status than 2xx is an error.
func (c *Collector) Get(ctx context.Context, path string) ([]byte, error) {
	return get(ctx, c.settings.HTTP, path)
}

// Figure is the sum of the samples of /metrics that have a name and labels, each `name="value"`; 0 where there is none.
func (c *Collector) Figure(name string, labels ...string) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, err := readFigures(ctx, c.settings.HTTP)
	if err != nil {
		return 0, err
	}
	return all.sum(name, labels...), nil
}

// figures are the lines of /metrics.
type figures []figure

type figure struct {
	name, labels string
	value        float64
}

func readFigures(ctx context.Context, address string) (figures, error) {
	body, err := get(ctx, address, "/metrics")
	if err != nil {
		return nil, err
	}
	var all figures
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("/metrics of %s: %w", address, err)
		}
		name, labels, _ := strings.Cut(line[:space], "{")
		all = append(all, figure{name, labels, value})
	}
	return all, nil
}

func (f figures) sum(name string, labels ...string) (sum float64) {
next:
	for _, line := range f {
		if line.name != name {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(line.labels, label) {
				continue next
			}
		}
		sum += line.value
	}
	return sum
}

// plain has no proxy: what is asked is on this machine, or on one that a scenario has made.
var plain = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4,
	IdleConnTimeout: 10 * time.Second}}

func get(ctx context.Context, address, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := plain.Do(request)
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

// answered is a series of a PromQL answer: points of a range selector, in the order of their times.
type answered struct {
	Metric map[string]string
	Values []point
}

type point struct {
	ms    int64
	value float64
}

// UnmarshalJSON reads [seconds, "value"].
func (p *point) UnmarshalJSON(text []byte) error {
	var seconds float64
	var value string
	if err := json.Unmarshal(text, &[]any{&seconds, &value}); err != nil {
		return err
	}
	var err error
	p.ms = int64(seconds*1000 + 0.5)
	p.value, err = strconv.ParseFloat(value, 64)
	return err
}

// storedSlices are what is stored under a selector from one time, exclusive, to another, inclusive: the samples as they
// are.
func storedSlices(ctx context.Context, address, selector string, from, to time.Time) ([]answered, error) {
	query := url.Values{"query": {fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds())},
		"time": {strconv.FormatFloat(float64(to.UnixMilli())/1000, 'f', 3, 64)}}
	body, err := get(ctx, address, "/api/v1/query?"+query.Encode())
	if err != nil {
		return nil, err
	}
	var answer struct {
		Warnings []string
		Data     struct{ Result []answered }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the answer to %s: %w", selector, err)
	}
	return answer.Data.Result, nil
}
