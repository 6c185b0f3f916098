package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/checklist"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

// checkFailed is the end of serve --check if it found a problem.
type checkFailed map[checklist.Result]int

func (f checkFailed) Error() string {
	return fmt.Sprintf("serve --check: %d wrong, %d unreachable, %d warnings; nothing was started", f[checklist.Wrong],
		f[checklist.Unreachable], f[checklist.Warning])
}

// ExitCode separates what must be changed from what may be available later.
func (f checkFailed) ExitCode() int {
	if f[checklist.Wrong] > 0 {
		return exitUsage
	}
	return exitFailed
}

// checkServe checks everything that a collector with these settings needs, and prints the results. invalid is the error
// of the settings themselves. The settings that could be read are checked nevertheless.
func checkServe(ctx context.Context, c config.Config, lines config.Lines, invalid error, tooLarge []string,
	out io.Writer) error {
	all := checklist.Faults(invalid)
	for _, warning := range tooLarge {
		all = append(all, checklist.Item{Result: checklist.Warning, Text: warning})
	}
	ok := func(format string, arguments ...any) {
		all = append(all, checklist.Item{Result: checklist.OK, Text: fmt.Sprintf(format, arguments...)})
	}
	if invalid == nil {
		ok("settings")
	}
	all = append(all, checkAccess(c, lines)...)
	if err := lines.Locate(checkNamed(c)); err != nil {
		all = append(all, checklist.Faults(err)...)
	} else {
		stores := 0
		for _, kind := range c.Stores {
			stores += len(kind)
		}
		ok("rule files: %d, network stores: %d, and other files that the settings name", len(c.Rules.Files), stores)
	}
	all = append(all, checkListen(c)...)
	all = append(all, callOthers(ctx, c)...)
	all = append(all, checkSpace(c))
	all = append(all, datadir.CheckData(c.DataDir)...)
	counts, err := checklist.Print(out, c.Secrets().Hide, all)
	if err == nil && counts[checklist.Wrong]+counts[checklist.Unreachable]+counts[checklist.Warning] > 0 {
		err = checkFailed(counts)
	}
	return err
}

// checkNamed reads the files and directories that the settings name, except the access files, and returns all errors. A
// start checks them before it opens a port or the data directory, so that all faults are reported together.
func checkNamed(c config.Config) error {
	_, engine := remoteEngine(c.Query)
	files, err := rulesengine.ReadFiles(c.Rules.Files)
	return errors.Join(err, rulesengine.Check(files, queryOptions(c.Query).Parser()),
		setAlertmanagers(c, false, &rulesengine.Options{}), checkStores(c), engine,
		checkRuns(c.Runs))
}

// checkStores builds the protocol of each store. That makes no connection.
func checkStores(c config.Config) (err error) {
	_ = eachStore(c, func(key string, kind forward.Kind, _ string, store *config.Store) error {
		if _, bad := protocolOf(kind, store); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s.%w", key, bad))
		}
		return nil
	})
	return err
}

func checkRuns(r config.Runs) error {
	if r.Dir == "" {
		return nil
	}
	info, err := os.Stat(r.Dir)
	switch {
	case err != nil:
		return fmt.Errorf("runs.dir: %w; name the directory with the runs, or remove the setting", err)
	case !info.IsDir():
		return fmt.Errorf("runs.dir: %s is not a directory; name the directory with the runs", r.Dir)
	}
	return nil
}

// checkAccess reads the access files and certificates of both ports.
func checkAccess(c config.Config, lines config.Lines) (all []checklist.Item) {
	col := &collector{logger: slog.New(slog.DiscardHandler)}
	if (c.GRPC.TLSCertFile == "") != (c.GRPC.TLSKeyFile == "") { // reported with the settings
		c.GRPC.TLSCertFile, c.GRPC.TLSKeyFile, c.GRPC.ClientCAFile = "", "", ""
	}
	if err := col.openAccess(c, nil); err != nil {
		// The faults of a port with invalid settings are reported with the settings.
		port := func(fault error) string { name, _, _ := strings.Cut(fault.Error(), "."); return name }
		invalid := map[string]bool{}
		for _, fault := range checklist.Split(c.Validate()) {
			invalid[port(fault)] = true
		}
		faults := slices.DeleteFunc(checklist.Split(err), func(fault error) bool { return invalid[port(fault)] })
		return checklist.Faults(lines.Locate(errors.Join(faults...)))
	}
	for i, guard := range []*access.Guard{col.senders, col.readers} {
		name := []string{"grpc", "http"}[i]
		text, err := guard.CheckCertificate(time.Now())
		if c.GRPC.TokenFile+[]string{c.GRPC.ClientCAFile, c.HTTP.TokenFile + c.HTTP.WebConfigFile}[i] != "" {
			text = "access files are valid; " + text
		}
		item := checklist.Item{Result: checklist.OK, Text: name + ": " + text}
		if err != nil {
			item = checklist.Item{Result: checklist.Wrong, Text: name + ": " + err.Error()}
		}
		all = append(all, item)
	}
	return all
}

// checkListen listens on each address for a moment. If a collector uses the data directory, its addresses may be in
// use: the check is for its next start.
func checkListen(c config.Config) (all []checklist.Item) {
	holder := datadir.Holder(c.DataDir)
	for i, a := range c.Listens() {
		clash := func(other config.Listens) bool { return other.Address.Overlaps(a.Address) }
		if a.Address.Listen("") != nil || slices.ContainsFunc(c.Listens()[:i], clash) {
			continue // reported with the settings
		}
		item := checklist.Item{Result: checklist.OK, Text: a.Key + " " + a.Address.String() + " is free"}
		listener, err := listen(a.Key, string(a.Address))
		switch {
		case err == nil:
			_ = listener.Close()
		case holder != "":
			item.Text = fmt.Sprintf("%s %s is in use, and so is data_dir (%s)", a.Key, a.Address, holder)
		default:
			item = checklist.Item{Result: checklist.Warning, Text: err.Error()}
		}
		all = append(all, item)
	}
	return all
}

// checkSpace compares the free space of the disk with the limits.
func checkSpace(c config.Config) checklist.Item {
	gib := func(n int64) string { return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30)) }
	limit, limits := c.Journal.MaxBytes, "journal.max_bytes "+gib(c.Journal.MaxBytes)
	switch {
	case c.Embedded.Enabled && c.Embedded.RetentionBytes > 0:
		limit += c.Embedded.RetentionBytes
		limits += ", store.embedded.retention_bytes " + gib(c.Embedded.RetentionBytes)
	case c.Embedded.Enabled:
		limits += ", store.embedded.retention_bytes unlimited"
	}
	return datadir.CheckSpace(c.DataDir, limit, limits)
}

// callTimeout bounds the call of one other program.
const callTimeout = 5 * time.Second

// callOthers calls the stores, Alertmanagers, the engine of query.url and Nimbus concurrently. Invalid addresses are
// left out, because they are reported with the settings.
func callOthers(ctx context.Context, c config.Config) []checklist.Item {
	type call struct {
		name string
		do   func(context.Context) (note string, err error)
	}
	var calls []call
	_ = eachStore(c, func(key string, _ forward.Kind, _ string, store *config.Store) error {
		if at, err := receiver(store); err == nil && at.Validate() == nil {
			calls = append(calls, call{key + ".url " + address.URL(store.URL).String(),
				func(ctx context.Context) (string, error) { return "", httpclient.Probe(ctx, store.URL, at.HTTP) }})
		}
		return nil
	})
	var alerts rulesengine.Options
	if setAlertmanagers(c, false, &alerts) == nil {
		for _, u := range alerts.Alertmanagers {
			if _, err := address.URL(u.String()).Parse(address.Form{Secrets: "a file"}); err == nil {
				at := u.JoinPath("/-/healthy").String()
				calls = append(calls, call{"alertmanager.urls " + address.URL(at).String(),
					func(ctx context.Context) (string, error) { return "", httpclient.Probe(ctx, at, alerts.Client) }})
			}
		}
	}
	if engine, err := remoteEngine(c.Query); err == nil && engine != nil {
		calls = append(calls, call{"query.url " + address.URL(c.Query.URL).String(), engine.Probe})
	}
	for _, at := range c.Nimbus.Addresses {
		if address.HostPort(at).Server("") == nil {
			calls = append(calls, call{"nimbus.addresses " + at, func(ctx context.Context) (string, error) {
				found, err := nimbus.Topologies(ctx, []string{at})
				return fmt.Sprintf("; it has %d topologies", len(found)), err
			}})
		}
	}
	all := make([]checklist.Item, len(calls))
	var calling sync.WaitGroup
	for i, call := range calls {
		calling.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			note, err := call.do(ctx)
			all[i] = checklist.Item{Result: checklist.OK, Text: call.name + " answers" + note}
			if err != nil {
				text := call.name + ": " + strings.TrimPrefix(err.Error(), call.name+": ")
				all[i] = checklist.Item{Result: checklist.Unreachable, Text: text}
			}
		})
	}
	calling.Wait()
	return all
}
