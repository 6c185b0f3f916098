package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	commonconfig "github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

// soon is how long before its end a certificate is spoken of.
const soon = 14 * 24 * time.Hour

// lookAtAccess reads who may enter by both ports, and the ports' certificates.
func lookAtAccess(c config.Config, lines config.Lines) (all []looked) {
	col := &collector{logger: slog.New(slog.DiscardHandler)}
	if (c.GRPC.TLSCertFile == "") != (c.GRPC.TLSKeyFile == "") { // which is among what is wrong with the settings
		c.GRPC.TLSCertFile, c.GRPC.TLSKeyFile, c.GRPC.ClientCAFile = "", "", ""
	}
	if err := col.openGuards(c, nil); err != nil {
		return allWrong(lines.Locate(notOf(portsOf(c.Validate()), err)))
	}
	for _, port := range []struct {
		name  string
		guard *access.Guard
	}{{"grpc", col.senders}, {"http", col.readers}} {
		says := port.name + ": who may enter"
		certificate := port.guard.Certificate()
		if certificate == nil {
			all = append(all, looked{fine, says + "; plain text"})
			continue
		}
		left, until := time.Until(certificate.NotAfter), certificate.NotAfter.UTC().Format(time.DateTime)+" UTC"
		switch {
		case left < 0:
			all = append(all, looked{wrong, port.name + ": the port's certificate ended " + until +
				": put one in its place"})
		case time.Now().Before(certificate.NotBefore):
			all = append(all, looked{wrong, port.name + ": the port's certificate begins " +
				certificate.NotBefore.UTC().Format(time.DateTime) + " UTC"})
		case left < soon:
			all = append(all, looked{fine, says + "; TLS, and its certificate ends soon, " + until})
		default:
			all = append(all, looked{fine, says + "; TLS until " + until})
		}
	}
	return all
}

// portsOf are the ports whose settings have faults.
func portsOf(err error) (ports []string) {
	for _, fault := range faultsIn(err) {
		port, _, _ := strings.Cut(fault.Error(), ".")
		ports = append(ports, port)
	}
	return ports
}

// notOf leaves out the faults of some ports' settings, which are reported by who judges the settings.
func notOf(ports []string, err error) error {
	return errors.Join(slices.DeleteFunc(faultsIn(err), func(fault error) bool {
		port, _, _ := strings.Cut(fault.Error(), ".")
		return slices.Contains(ports, port)
	})...)
}

// holderOf is who writes into the data directory now; "" for nobody.
func holderOf(c config.Config) string {
	return disk.System{}.Holder(journal.LockFile(filepath.Join(c.DataDir, "journal")))
}

// lookAtAddresses takes each address and gives it back. One that is taken is no fault where a collector runs on this
// data directory: the check is for its next start.
func lookAtAddresses(c config.Config, holder string) (all []looked) {
	for i, a := range c.Listens() {
		clash := func(other config.Listens) bool { return other.Address.Overlaps(a.Address) }
		if a.Address.Listen("") != nil || slices.ContainsFunc(c.Listens()[:i], clash) {
			continue // it is among what is wrong with the settings
		}
		listener, err := listen(a.Key, string(a.Address))
		switch {
		case err == nil:
			_ = listener.Close()
			all = append(all, looked{fine, a.Key + " " + a.Address.String() + " is free"})
		case holder != "":
			all = append(all, looked{fine, a.Key + " " + a.Address.String() + " is taken, and a collector runs on data_dir (" +
				holder + ")"})
		default:
			all = append(all, looked{away, err.Error()})
		}
	}
	return all
}

// storesOf is how many stores on the network there are.
func storesOf(c config.Config) (n int) {
	for _, kind := range c.Stores {
		n += len(kind)
	}
	return n
}

// callTimeout bounds a call of one of the others.
const callTimeout = 5 * time.Second

// lookAtOthers calls stores, Alertmanagers and Nimbus, all at a time.
func lookAtOthers(ctx context.Context, c config.Config) []looked {
	var calls []func(context.Context) looked
	for _, kind := range forward.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			store := c.Stores[kind.Name][name]
			if at, err := receiver(store); err == nil && at.Validate() == nil {
				calls = append(calls, func(ctx context.Context) looked {
					return reached(ctx, "store."+kind.Name+"."+name+".url", store.URL, at.HTTP)
				})
			}
		}
	}
	var alerts rulesengine.Options
	if callees(c, false, &alerts) == nil {
		for _, u := range alerts.Alertmanagers {
			if _, err := address.URL(u.String()).Parse(address.Form{Secrets: "a file"}); err != nil {
				continue // it is among what is wrong with the settings
			}
			calls = append(calls, func(ctx context.Context) looked {
				return reached(ctx, "alertmanager.urls", u.JoinPath("/-/healthy").String(), alerts.Client)
			})
		}
	}
	if c.Query.URL != "" && checkQuery(c.Query) == nil {
		calls = append(calls, func(ctx context.Context) looked { return lookAtEngine(ctx, c.Query) })
	}
	for _, at := range c.Nimbus.Addresses {
		if address.HostPort(at).Server("") != nil {
			continue // it is among what is wrong with the settings
		}
		calls = append(calls, func(ctx context.Context) looked {
			found, err := nimbus.Topologies(ctx, []string{at})
			if err != nil {
				return looked{away, "nimbus.addresses: " + err.Error()}
			}
			return looked{fine, fmt.Sprintf("nimbus.addresses %s answers, and has %d topologies", at, len(found))}
		})
	}
	all := make([]looked, len(calls))
	var calling sync.WaitGroup
	for i, call := range calls {
		calling.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			all[i] = call(ctx)
		})
	}
	calling.Wait()
	return all
}

// lookAtEngine asks the engine of query.url what it can do.
func lookAtEngine(ctx context.Context, c config.Query) looked {
	engine, err := remoteEngine(c)
	if err != nil {
		return looked{wrong, err.Error()}
	}
	can, err := engine.Abilities(ctx)
	switch {
	case err != nil:
		return looked{away, err.Error()}
	case !can.NativeHistograms:
		return looked{fine, "query.url " + address.URL(c.URL).String() + " answers, and evaluates no native histograms: percentiles of latency have no answer there"}
	}
	return looked{fine, "query.url " + address.URL(c.URL).String() + " answers, native histograms too"}
}

// reached asks for what stands at a URL. A store answers a GET of where it takes POSTs in many ways: it is reached
// unless it asks for other credentials or fails.
func reached(ctx context.Context, key, at string, access commonconfig.HTTPClientConfig) looked {
	err := visit(ctx, at, access)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // it repeats the URL
	}
	if err != nil {
		return looked{away, fmt.Sprintf("%s %s: %v", key, address.URL(at), err)}
	}
	return looked{fine, key + " " + address.URL(at).String() + " answers"}
}

func visit(ctx context.Context, at string, access commonconfig.HTTPClientConfig) error {
	client, err := httpclient.New(httpclient.Options{Access: &access, Pages: true})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return fmt.Errorf("it answers %s: see the credentials in http_config_file", response.Status)
	case code >= 500 && code != http.StatusNotImplemented:
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
