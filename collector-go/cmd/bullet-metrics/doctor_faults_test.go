package main

import (
	"archive/zip"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor/examine"
	pluginnames "github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// fault is a run of the doctor with one thing wrong.
type fault struct {
	settings string   // lines beside those that are right; a line of the same name takes the place of one
	more     []string // flags
	check    string
	status   doctor.Status
	says     string
	fix      string
}

// rightSettings are those of a topology of which nothing is wrong, but for its address.
const rightSettings = `bullet.topology.metrics.enable: true
bullet.topology.metrics.built.in.enable: true
bullet.topology.metrics.classes: ["` + pluginnames.BulletClass + `"]
`

// find runs the doctor, and returns the one finding that the fault is about. Nothing else may have failed.
func (f fault) find(t *testing.T, flags ...string) doctor.Finding {
	t.Helper()
	settings := f.settings
	for line := range strings.Lines(rightSettings) {
		if name, _, _ := strings.Cut(line, ":"); !strings.Contains(f.settings, name+":") {
			settings += line
		}
	}
	file := filepath.Join(t.TempDir(), "bullet_settings.yaml")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	out, _ := program(append(append([]string{"doctor", "--bullet-conf", file, "--output", "json"}, f.more...),
		flags...)...)
	var report doctor.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	var found doctor.Finding
	for _, one := range report.Findings {
		if one.Check == f.check {
			found = one
		} else if one.Check != "first batch" {
			assert.NotEqual(t, doctor.Fail, one.Status, "%+v", one)
		}
	}
	return found
}

func (f fault) assert(t *testing.T, flags ...string) {
	t.Helper()
	found := f.find(t, flags...)
	require.Equal(t, f.status, found.Status, "%+v", found)
	assert.Contains(t, found.Says, f.says)
	assert.Contains(t, found.Fix, f.fix)
}

func addressSetting(at string) string { return pluginnames.Collector + "address: [\"" + at + "\"]\n" }

// The faults that need no cluster, each at a real collector's ports, over real handshakes and files.
func TestDoctorNamesEachFault(t *testing.T) {
	dir := t.TempDir()
	authority := accesstest.NewAuthority(t, "ours")
	cert, key := authority.Issue(dir, "127.0.0.1", time.Now().Add(time.Hour))
	tls := settings(t.TempDir())
	tls.GRPC.TLSCertFile, tls.GRPC.TLSKeyFile, tls.GRPC.Insecure = cert, key, true
	secured, plain := startCollector(t, tls), startCollector(t, settings(t.TempDir()))
	tlsPort, plainPort, httpPort := secured.col.grpcListener.Addr().String(), plain.col.grpcListener.Addr().String(),
		plain.col.httpListener.Addr().String()
	ca := authority.File(dir)
	withTokens := settings(t.TempDir())
	withTokens.GRPC.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "reader read", "writer write")
	guarded := startCollector(t, withTokens).col.grpcListener.Addr().String()
	token := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(name+"\n"), 0o600))
		return pluginnames.Collector + "token.file: " + path + "\n"
	}
	_, free, err := net.SplitHostPort(freePort(t))
	require.NoError(t, err)
	const on = pluginnames.Collector + "tls.enabled: true\n"
	caFile := func(path string) string { return pluginnames.Collector + "tls.ca.file: " + path + "\n" }
	log := func(lines ...string) []string {
		path := filepath.Join(t.TempDir(), "worker.log")
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		return []string{"--log", path}
	}
	for name, f := range map[string]fault{
		"nothing, in plain text": {settings: addressSetting(plainPort), check: "address", status: doctor.OK,
			says: "a collector listens at " + plainPort},
		"nothing, over TLS": {settings: addressSetting(tlsPort) + on + caFile(ca), check: "tls", status: doctor.OK,
			says: "used by both sides"},

		"the wrong address": {settings: addressSetting("127.0.0.1:" + free), check: "address", status: doctor.Fail,
			says: "cannot reach 127.0.0.1:" + free, fix: "start bullet-metrics serve there"},
		"an address without a port": {settings: addressSetting("127.0.0.9"), check: "address", status: doctor.Fail,
			says: "127.0.0.9 has no port, so the default 4320", fix: "use HOST:PORT"},
		"the HTTP port": {settings: addressSetting(httpPort), check: "address", status: doctor.Fail,
			says: httpPort + " is an HTTP port", fix: "grpc.listen"},
		"a URL": {settings: addressSetting("http://" + plainPort), check: "address", status: doctor.Fail,
			says: "is not an address", fix: "use HOST:PORT"},
		"TLS only at the plugin": {settings: addressSetting(plainPort) + on, check: "tls", status: doctor.Fail,
			says: "only the plugin uses TLS", fix: "grpc.tls.cert_file"},
		"TLS only at the collector": {settings: addressSetting(tlsPort), check: "tls", status: doctor.Fail,
			says: "only the collector uses TLS", fix: "tls.enabled: true"},
		"another authority": {settings: addressSetting(tlsPort) + on, check: "tls", status: doctor.Fail,
			says: "the plugin does not trust the certificate of " + tlsPort, fix: "tls.ca.file"},
		"a CA file that is missing": {settings: addressSetting(tlsPort) + on + caFile("/nope/ca.pem"), check: "files",
			status: doctor.Fail, says: "open /nope/ca.pem: no such file", fix: "every host that runs workers"},
		"a token that may write": {settings: addressSetting(guarded) + token("writer"), check: "permission",
			status: doctor.OK, says: "no collector refuses"},
		"a token that may only read": {settings: addressSetting(guarded) + token("reader"), check: "permission",
			status: doctor.Fail, says: "the collector at " + guarded + " refuses the plugin", fix: "may write"},
		"no token": {settings: addressSetting(guarded), check: "permission", status: doctor.Fail,
			says: "refuses the plugin", fix: "token.file"},

		"the class for early Bullet": {settings: addressSetting(plainPort) + "bullet.topology.metrics.classes: [" +
			pluginnames.EarlyClass + "]\n", more: []string{"--bullet", "1.3"}, check: "registration",
			status: doctor.Fail, says: "for Bullet up to 0.4.3 on Storm 1, but this is Bullet 1.3",
			fix: "use " + pluginnames.BulletClass},
		"a jar that is missing": {settings: addressSetting(plainPort), more: []string{"--jar", "/nope/plugin.jar"},
			check: "jar", status: doctor.Fail, says: "no such file", fix: "made by make build"},
		"a misspelt setting": {settings: addressSetting(plainPort) + pluginnames.Collector + "tls.enable: true\n",
			check: "settings", status: doctor.Fail, says: "bullet_settings.yaml: " + pluginnames.Collector + "tls.enable",
			fix: pluginnames.Collector + "tls.enabled?"},
		"YAML that does not parse": {settings: "a: [b\n" + addressSetting(plainPort), check: "settings", status: doctor.Fail,
			says: "bullet_settings.yaml:", fix: "correct line "},

		"the jar on the submitter only": {settings: addressSetting(plainPort), check: "logs", status: doctor.Fail,
			says: "ClassNotFoundException", fix: "extlib on every Supervisor",
			more: log("2026-11-23 05:00:00.000 ERROR o.a.s.util main Async loop died!",
				"Caused by: java.lang.ClassNotFoundException: "+pluginnames.StormClass)},
		"what the plugin says": {settings: addressSetting(plainPort), check: "logs", status: doctor.Fail,
			says: "No metrics are exported: x is 'y'", fix: "correct the setting or the file that the line names",
			more: log("2026-11-23 05:00:00.000 ERROR i.g.b.s.StormMetricsConsumer main bullet-metrics: No metrics are exported: x is 'y'. The topology continues without them.")},
		"an outage that has ended": {settings: addressSetting(plainPort), check: "logs", status: doctor.OK,
			says: "2 messages of the plugin",
			more: log("2026-11-23 05:00:00.000 WARN i.g.b.s.s.OutageLog x bullet-metrics: Metrics do not reach the collector at a:1: gone. Check that it is running and that bullet.topology.metrics.collector.address is correct. Retrying; 3 samples are queued. Unreachable for 0 s; failures since the last such message: 0.",
				"2026-11-23 05:00:09.000 INFO i.g.b.s.s.OutageLog x bullet-metrics: Metrics reach the collector at a:1 again, after 9 s and 4 failed attempts.")},
	} {
		t.Run(name, func(t *testing.T) { f.assert(t, "--collector", "none") })
	}
}

// A topology that has just begun to report is waited for, and is no failure; --wait sees it become well.
func TestDoctorWaitsForAFreshTopology(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	r.sendAndStay("t-1", minute(1, time.Now().Truncate(10*time.Second)))
	at := r.col.httpListener.Addr().String() // without a scheme
	require.Eventually(t, func() bool { return len(r.topologies()) == 1 }, time.Minute, 10*time.Millisecond)
	out, err := program("doctor", "--collector", at, "--output", "json")
	require.NoError(t, err, out)
	var report doctor.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	found := map[string]doctor.Finding{}
	for _, f := range report.Findings {
		found[f.Check] = f
	}
	assert.Equal(t, doctor.OK, found["first batch"].Status, "%+v", found["first batch"])
	assert.Equal(t, doctor.Waiting, found["heap"].Status, "%+v", found["heap"])
	assert.Regexp(t, `^the first slices are expected at \d\d:\d\d:\d\d$`, found["heap"].Says)
	text, err := program("doctor", "--collector", at)
	require.NoError(t, err)
	assert.Less(t, strings.Index(text, "waiting"), strings.Index(text, "OK  "), text)
	assert.Contains(t, text, "unknown  jar: not checked: set --jar\n")
}

// What the plugin reports of a time without a collector reaches the doctor through the collector.
func TestDoctorHearsOfAnOutageFromTheCollector(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	batch := minute(1, time.Now().Truncate(10*time.Second))
	batch.Annotations = append(batch.Annotations, outageNote(time.Now()))
	r.sendAndStay("t-1", batch)
	require.Eventually(t, func() bool {
		found, _ := r.examine("t")
		return found["logs"].Status == doctor.OK &&
			strings.Contains(found["logs"].Says, "collector.example:4320: UNAVAILABLE")
	}, time.Minute, 50*time.Millisecond)
}

// Nobody at the usual address is no failure where something else was to be looked at, and one where a topology was
// asked for.
func TestDoctorAsksTheUsualCollector(t *testing.T) {
	jar := examine.Sources{Jar: "a"}
	sources, err := (&doctorOptions{Sources: jar}).sources()
	require.NoError(t, err)
	assert.Equal(t, usualCollector, sources.Collector.Address())
	assert.True(t, sources.Assumed)
	for _, named := range []doctorOptions{{}, {Sources: examine.Sources{Jar: "a", Topology: "t"}},
		{Sources: jar, to: collectorFlags{collector: "127.0.0.1:1"}}} {
		sources, err := named.sources()
		require.NoError(t, err)
		assert.False(t, sources.Assumed, "%+v", named)
	}
}

// The jar of another build is named by what it lacks.
func TestDoctorLooksIntoAJar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.jar")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(file)
	_, err = w.Create(strings.ReplaceAll(pluginnames.BulletClass, ".", "/") + ".class")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	out, err := program("doctor", "--jar", path, "--collector", "none")
	assert.ErrorContains(t, err, "1 of 20 checks failed")
	assert.True(t, strings.HasPrefix(out, "FAIL     jar "), out)
	assert.Contains(t, out, pluginnames.SamplerClass)
}
