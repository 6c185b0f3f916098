//go:build prometheus

package rulesengine

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/alertmanagertest"
)

func TestARealAlertmanagerHearsAnAlertAndItsEnd(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	manager := alertmanagertest.Start(t)
	dir := t.TempDir()
	p := newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, slowFilter, manager.URL))
	require.NoError(t, err)
	defer run(t, e)()

	awaitNotices(t, manager, 1)
	heard := manager.Active(t)
	require.Len(t, heard, 1)
	assert.Equal(t, "FilterLatencyHigh", heard[0].Name())
	assert.Equal(t, []string{fmt.Sprint(manager.URL, "/api/v2/alerts")}, texts(e.Alertmanagers()))

	p.latency(t, 0.1)
	notices := awaitNotices(t, manager, 2)
	assert.Equal(t, []string{"firing", "resolved"}, []string{notices[0].Status, notices[1].Status})
	assert.Empty(t, manager.Active(t))
}

// awaitNotices waits until Alertmanager has sent n notifications, each about the beginning or the end of an alert.
func awaitNotices(t *testing.T, manager *alertmanagertest.Alertmanager, n int) []alertmanagertest.Alert {
	t.Helper()
	require.Eventually(t, func() bool { return len(manager.Notifications()) >= n }, time.Minute, 20*time.Millisecond)
	return manager.Notifications()
}

// A collector that restarts while an alert fires causes no notification that the alert has ended, nor a second one
// that it began.
func TestARestartDoesNotResolveAnAlert(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	manager := alertmanagertest.Start(t)
	dir := t.TempDir()
	p := newPlace(t, dir)
	p.latency(t, 0.25)
	o := p.options(dir, slowFilter, manager.URL)
	o.ResendDelay = time.Minute
	first, err := New(p.engine, p.results, o)
	require.NoError(t, err)
	end := run(t, first)
	began := awaitNotices(t, manager, 1)[0]
	end()
	p.close(t)
	held := manager.Active(t)
	require.Len(t, held, 1)
	assert.WithinDuration(t, held[0].UpdatedAt.Add(4*time.Minute), held[0].EndsAt, 30*time.Second,
		"a collector may be away for four resend delays")

	p = newPlace(t, dir)
	defer p.close(t)
	second, err := New(p.engine, p.results, p.options(dir, slowFilter, manager.URL))
	require.NoError(t, err)
	defer run(t, second)()
	var again []alertmanagertest.Alert
	require.Eventually(t, func() bool {
		again = manager.Active(t)
		return len(again) == 1 && again[0].UpdatedAt.After(held[0].UpdatedAt)
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, held[0].StartsAt, again[0].StartsAt)
	assert.Equal(t, []alertmanagertest.Alert{began}, manager.Notifications())
}

// Two collectors evaluate the same rules over the same engine, as with query.url. Alertmanager merges their alerts and
// notifies once, and one collector is sufficient.
func TestTwoEvaluatorsNotifyOnce(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	manager := alertmanagertest.Start(t)
	shared := newPlace(t, t.TempDir())
	defer shared.close(t)
	shared.latency(t, 0.25)
	var ends []func()
	for range 2 {
		dir := t.TempDir()
		own := OpenResults(dir+"/results", time.Hour, nil, nil)
		engine, err := query.New(query.Join(shared.store, own), query.DefaultOptions())
		require.NoError(t, err)
		o, figures := shared.options(dir, slowFilter, manager.URL), prometheus.NewPedanticRegistry()
		o.Registerer = figures
		e, err := New(engine, own, o)
		require.NoError(t, err)
		end := run(t, e)
		ends = append(ends, func() {
			end()
			require.NoError(t, engine.Close())
			require.NoError(t, own.Close())
		})
		require.Eventually(t, func() bool {
			return counted(t, figures, "prometheus_notifications_sent_total", manager.URL+"/api/v2/alerts") > 1
		}, time.Minute, 20*time.Millisecond)
	}
	held := manager.Active(t)
	require.Len(t, held, 1)
	ends[0]()
	require.Eventually(t, func() bool {
		now := manager.Active(t)
		return len(now) == 1 && now[0].UpdatedAt.After(held[0].UpdatedAt)
	}, time.Minute, 20*time.Millisecond)
	require.Len(t, manager.Notifications(), 1)

	shared.latency(t, 0.1)
	notices := awaitNotices(t, manager, 2)
	ends[1]()
	assert.Equal(t, []string{"firing", "resolved"}, []string{notices[0].Status, notices[1].Status})
	assert.Len(t, manager.Notifications(), 2)
}

// An Alertmanager that cannot be reached, and one that never answers, delay neither rules nor the working
// Alertmanager. Their failures are counted.
func TestAlertmanagersThatDoNotAnswerHoldUpNobody(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	manager := alertmanagertest.Start(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, but never answers
	require.NoError(t, err)
	defer silent.Close()
	nobody, mute := "http://"+closed.Addr().String(), "http://"+silent.Addr().String()

	dir := t.TempDir()
	p := newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	o := p.options(dir, slowFilter, nobody, mute, manager.URL)
	figures := prometheus.NewPedanticRegistry()
	o.Registerer, o.SendTimeout = figures, time.Second
	e, err := New(p.engine, p.results, o)
	require.NoError(t, err)
	end := run(t, e)
	awaitNotices(t, manager, 1)
	p.latency(t, 0.1)
	awaitNotices(t, manager, 2)

	failed := func(of string) float64 {
		return failures(t, figures, of+"/api/v2/alerts")
	}
	require.Eventually(t, func() bool { return failed(nobody) > 0 && failed(mute) > 0 }, time.Minute,
		20*time.Millisecond)
	assert.Zero(t, failed(manager.URL))
	end() // would never return if it waited for the silent one
}

// failures returns the number of alerts that could not be sent to an Alertmanager.
func failures(t *testing.T, figures *prometheus.Registry, to string) float64 {
	t.Helper()
	return counted(t, figures, "prometheus_notifications_errors_total", to)
}

// counted returns a counter's value for an Alertmanager.
func counted(t *testing.T, figures *prometheus.Registry, name, to string) float64 {
	t.Helper()
	families, err := figures.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == to {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func texts[T fmt.Stringer](all []T) (out []string) {
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
}
