package stormconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

const pluginSources = "../../../../plugin-java/src/main/java/"

func version(t *testing.T, text string) Version {
	v, err := ParseVersion(text)
	require.NoError(t, err)
	return v
}

func names(lines []Line) (all []string) {
	for _, line := range lines {
		all = append(all, line.Setting)
		if line.Why == "" {
			all = append(all, "no reason")
		}
	}
	return all
}

// The lines for each version: those to paste, and those that register() sets.
func TestLinesByVersion(t *testing.T) {
	const always = "topology.metrics.consumer.register topology.worker.metrics topology.builtin.metrics.bucket.size.secs"
	const tick, width, kryo = " topology.enable.v2.metrics.tick", " topology.v2.metrics.tick.interval.seconds",
		" topology.kryo.register"
	const bullet = "bullet.topology.metrics.enable bullet.topology.metrics.built.in.enable bullet.topology.metrics.classes bullet.topology.metrics.collector.address"
	const hook = " topology.auto.task.hooks"
	const reserved = " topology.metrics.consumer.resources.onheap.memory.mb topology.metrics.consumer.resources.offheap.memory.mb" +
		" topology.metrics.consumer.cpu.pcore.percent"
	for _, c := range []struct{ storm, bullet, lines, automatic string }{
		{"1.0.3", "", always, ""},
		{"1.2.4", "", always, ""},
		{"2.1.0", "", always, ""},
		{"2.2.0", "", always + tick, ""},
		{"2.3", "", always + tick + width, ""},
		{"2.5.0", "", always + tick + width, ""},
		{"2.6.1", "", always + tick + width + kryo, ""},
		{"2.8.3", "", always + tick + width + kryo, ""},
		{"1.0.3", "0.3", bullet, always + hook},
		{"1.0.3", "0.4.3", bullet, always + hook},
		{"1.0.3", "0.4", bullet, always + hook},
		{"1.0.3", "0.5.0", bullet, always + hook},
		{"2.2.0", "1.0.0", bullet, always + tick + hook + reserved},
		{"2.8", "1.3.2", bullet, always + tick + width + kryo + hook + reserved},
	} {
		t.Run(c.storm+"/"+c.bullet, func(t *testing.T) {
			r := Request{Storm: version(t, c.storm), Plain: c.bullet == "", Addresses: []string{"127.0.0.1:4320"}}
			if !r.Plain {
				r.Bullet = version(t, c.bullet)
			}
			s, err := For(r)
			require.NoError(t, err)
			assert.Equal(t, strings.Fields(c.lines), names(s.Lines))
			assert.ElementsMatch(t, strings.Fields(c.automatic), names(s.Automatic))
			early := strings.HasPrefix(c.bullet, "0.3") || strings.HasPrefix(c.bullet, "0.4")
			assert.Equal(t, early, strings.Contains(s.YAML(), `- "`+plugininfo.EarlyClass+`"`))
			assert.Equal(t, c.bullet != "" && !early, strings.Contains(s.YAML(), `- "`+plugininfo.BulletClass+`"`))
			assert.Equal(t, c.storm != "1.0.3", strings.Contains(s.YAML(), "max.retain.metric.tuples: 10000"))
			assertPastes(t, s)
		})
	}
}

// assertPastes parses the text as YAML: it contains the lines and nothing else.
func assertPastes(t *testing.T, s SettingsFile) {
	var read map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(s.YAML()), &read), s.YAML())
	values := map[string]any{}
	for _, line := range s.Lines {
		values[line.Setting] = line.Value
	}
	meant, err := json.Marshal(values)
	require.NoError(t, err)
	pasted, err := json.Marshal(read)
	require.NoError(t, err)
	assert.JSONEq(t, string(meant), string(pasted))
}

func TestForSaysWhatIsWrong(t *testing.T) {
	here := []string{"127.0.0.1:4320"}
	for _, c := range []struct {
		storm, bullet string
		addresses     []string
		executors     int
		says          string
	}{
		{"1.0.2", "1.3", here, 0, "from 1.0.3 to 2.8"},
		{"2.9.0", "1.3", here, 0, "from 1.0.3 to 2.8"},
		{"2.8", "0.2.1", here, 0, "from 0.3 to 1.3"},
		{"2.8", "2.0", here, 0, "from 0.3 to 1.3"},
		{"2.8", "1.3", nil, 0, "no collector address"},
		{"2.8", "1.3", []string{"collector"}, 0, `"collector": missing port; use HOST:PORT`},
		{"2.8", "1.3", []string{"http://collector:1"}, 0, "an address must not have a scheme"},
		{"2.8", "1.3", []string{"a\"b:1"}, 0, "is not a host name"},
		{"2.8", "1.3", here, -1, "must not be negative"},
	} {
		_, err := For(Request{Storm: version(t, c.storm), Bullet: version(t, c.bullet), Addresses: c.addresses,
			Executors: c.executors})
		assert.ErrorContains(t, err, c.says)
	}
	for _, text := range []string{"", "2", "2.x", "2.8.3.1", "-1.0", "2..3", "v2.8"} {
		_, err := ParseVersion(text)
		assert.ErrorContains(t, err, "is not a version", text)
	}
}

func TestRetainedGrowsWithTheTopology(t *testing.T) {
	r := Request{Storm: version(t, "2.8"), Bullet: version(t, "1.3"), Addresses: []string{"a:1"}, Executors: 1_250}
	small, err := For(r)
	require.NoError(t, err)
	assert.NotContains(t, names(small.Lines), "bullet.topology.metrics.collector.max.retain.metric.tuples",
		"register() sets 10,000 itself")
	r.Executors = 1_251
	large, err := For(r)
	require.NoError(t, err)
	assert.Contains(t, large.YAML(), "\nbullet.topology.metrics.collector.max.retain.metric.tuples: 10008\n")
	r.Plain = true
	plain, err := For(r)
	require.NoError(t, err)
	assert.Contains(t, plain.YAML(), "    max.retain.metric.tuples: 10008\n")
}

func TestReservedGrowsWithTheTopology(t *testing.T) {
	r := Request{Storm: version(t, "2.8"), Bullet: version(t, "1.3"), Addresses: []string{"a:1"}, Executors: 1_162}
	s, err := For(r)
	require.NoError(t, err)
	values := map[string]any{}
	for _, line := range s.Automatic {
		values[line.Setting] = line.Value
	}
	assert.Equal(t, 102, values["topology.metrics.consumer.resources.onheap.memory.mb"])
	assert.Equal(t, 7, values["topology.metrics.consumer.cpu.pcore.percent"])
}

func TestNotesSayWhatToMind(t *testing.T) {
	const noTLS, notBuilt = "without TLS", "was not built for"
	for _, c := range []struct {
		storm, bullet, address string
		tls, saysTLS, saysNot  bool
	}{
		{"2.8", "1.3", "127.0.0.1:4320", false, false, false},
		{"2.8", "1.3", "[::1]:4320", false, false, false},
		{"2.8", "1.3", "localhost:4320", false, false, false},
		{"2.8", "1.3", "collector:4320", false, true, false},
		{"2.8", "1.3", "collector:4320", true, false, false},
		{"1.2.4", "1.3", "127.0.0.1:4320", false, false, true},
		{"2.2", "0.9.1", "127.0.0.1:4320", false, false, true},
		{"1.2.4", "0.9.1", "127.0.0.1:4320", false, false, false},
	} {
		s, err := For(Request{Storm: version(t, c.storm), Bullet: version(t, c.bullet), Addresses: []string{c.address},
			TLS: c.tls})
		require.NoError(t, err)
		notes := strings.Join(s.Notes, "\n")
		assert.Equal(t, c.saysTLS, strings.Contains(notes, noTLS), c)
		assert.Equal(t, c.saysNot, strings.Contains(notes, notBuilt), c)
		assert.Equal(t, c.tls, strings.Contains(s.YAML(), "\nbullet.topology.metrics.collector.tls.enabled: true\n"), c)
	}
}

// The facts about the plugin agree with the plugin's source.
func TestThePluginIsAsSaid(t *testing.T) {
	source := func(class string) string {
		text, err := os.ReadFile(filepath.Join(pluginSources, strings.ReplaceAll(class, ".", "/")+".java"))
		require.NoError(t, err, "a class that is printed must exist")
		return string(text)
	}
	assert.Contains(t, source(plugininfo.BulletClass),
		"public static void register(Config stormConfig, BulletStormConfig bulletConfig)")
	assert.Contains(t, source(plugininfo.EarlyClass),
		"public static void register(Config stormConfig, BulletConfig bulletConfig)")
	assert.Contains(t, source(plugininfo.EarlyClass), "import com.yahoo.bullet.BulletConfig;")
	source(plugininfo.StormClass)
	source(plugininfo.SamplerClass)
	source(plugininfo.HookClass)
	about := source("io.github.bulletmetrics.storm.Settings")
	assert.Contains(t, about, `PREFIX = "`+plugininfo.Collector+`"`)
	assert.Contains(t, about, "DEFAULT_RETAIN_TUPLES = 10_000;")
	for _, name := range []string{"address", "tls.enabled", "tls.ca.file", "latency.enabled",
		"max.retain.metric.tuples"} {
		assert.Contains(t, about, `PREFIX + "`+name+`"`)
	}
	needs := source("io.github.bulletmetrics.storm.ConsumerResources")
	for name, value := range map[string]int{"LEAST_HEAP_MIB": leastHeapMiB, "HEAP_MIB_PER_THOUSAND": heapMiBPerThousand,
		"OFF_HEAP_MIB": offHeapMiB,
		"LEAST_CPU":    leastCPU, "CPU_PER_THOUSAND": cpuPerThousand} {
		assert.Contains(t, needs, fmt.Sprintf("static final int %s = %d;", name, value))
	}
	registration := source("io.github.bulletmetrics.storm.Registration")
	assert.Contains(t, registration, "INTERVAL_SECONDS = 10;")
	assert.Contains(t, registration, `EMPTY_MAP = "`+emptyMap+`"`)
	assert.Contains(t, source("io.github.bulletmetrics.storm.flatten.Flattener"), `SAMPLER_METRIC = "`+samplerName+`"`)
}
