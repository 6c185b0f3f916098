package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// profileSeconds is how long one of the CPU profiles lasts that follow each other while a server is measured.
const profileSeconds = 10

// profiling asks for profiles.
var profiling = httpclient.Plain(httpclient.Options{MostBytes: 1 << 30})

// profile takes CPU profiles of the server, NAME-1.pprof and so on (pprof adds up those that it is given), until the
// returned function is called, which waits for the last.
func (v *server) profile(s *session, name string) (stop func() error) {
	if v.pprof == "" {
		return func() error { return nil }
	}
	stopping, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 1; ; i++ {
			select {
			case <-stopping:
				stopped <- nil
				return
			default:
			}
			if err := v.save(s, fmt.Sprintf("%s-%d", name, i),
				fmt.Sprintf("profile?seconds=%d", profileSeconds)); err != nil {
				stopped <- err
				return
			}
		}
	}()
	return func() error {
		close(stopping)
		return <-stopped
	}
}

// heap saves what is in the server's heap, NAME-heap.pprof.
func (v *server) heap(s *session, name string) error {
	if v.pprof == "" {
		return nil
	}
	return v.save(s, name+"-heap", "heap")
}

// save saves one of Go's profiles.
func (v *server) save(s *session, name, what string) error {
	if err := os.MkdirAll(s.profiles, 0o750); err != nil {
		return err
	}
	response, err := profiling.Get("http://" + v.pprof + "/debug/pprof/" + what)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	f, err := os.Create(filepath.Join(s.profiles, name+".pprof"))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, response.Body)
	return errors.Join(err, f.Close())
}
