package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// configuration is scenario 22: a good file of settings that someone changed for the worse. A try is a file; the
// program is started with it, and has to refuse it with the file, the line and, of a key that is not known, the nearest
// that is.
func configuration() Scenario {
	return Scenario{Number: 22, Fault: "configuration", Full: 200, Short: 8, Try: playConfigurations}
}

// soundSettings is a file in which every line is a setting. Each try makes one line wrong.
var soundSettings = []string{
	"shutdown.timeout: 5s",
	"slice.width: 10s",
	"slice.lateness: 30s",
	"journal.max_bytes: 1GiB",
	"journal.segment_bytes: 64MiB",
	"store.embedded.enabled: true",
	"store.embedded.retention_time: 15d",
	"store.embedded.retention_bytes: 8GiB",
	"store.remote_write.mimir.url: http://127.0.0.1:9/api/v1/push",
	"store.remote_write.mimir.timeout: 30s",
	"store.influxdb.old.url: http://127.0.0.1:9",
	"store.influxdb.old.database: bullet",
	"query.timeout: 2m",
	"query.max_samples: 50000000",
	"query.max_depth: 256",
	"query.lookback: 5m",
	"rules.interval: 15s",
	"runs.dir: runs",
	"limits.series_per_topology: 200000",
	"limits.streams: 384",
	"limits.batch_bytes: 4194304",
	"log.level: info",
	"log.format: text",
}

// mutation makes a line wrong, and returns what the answer must contain beside the file and the line. A line of ""
// drops the try.
type mutation struct {
	name  string
	apply func(random *rand.Rand, key, value string) (line string, wanted []string)
}

var mutations = []mutation{
	{"a letter is missing", func(random *rand.Rand, key, value string) (string, []string) {
		at := lastPart(key) + random.IntN(len(key)-lastPart(key))
		return key[:at] + key[at+1:] + ": " + value, []string{"unknown setting", "did you mean", quoted(key)}
	}},
	{"a letter too many", func(random *rand.Rand, key, value string) (string, []string) {
		at := lastPart(key) + random.IntN(len(key)-lastPart(key))
		return key[:at] + "q" + key[at:] + ": " + value, []string{"unknown setting", "did you mean", quoted(key)}
	}},
	{"two letters are swapped", func(random *rand.Rand, key, value string) (string, []string) {
		at := lastPart(key) + random.IntN(len(key)-lastPart(key)-1)
		if key[at] == key[at+1] {
			return "", nil
		}
		return key[:at] + key[at+1:at+2] + key[at:at+1] + key[at+2:] + ": " + value,
			[]string{"unknown setting", "did you mean", quoted(key)}
	}},
	{"a dash for an underscore", func(_ *rand.Rand, key, value string) (string, []string) {
		if !strings.Contains(key[lastPart(key):], "_") {
			return "", nil
		}
		return key[:lastPart(key)] + strings.ReplaceAll(key[lastPart(key):], "_", "-") + ": " + value,
			[]string{"unknown setting", "did you mean", quoted(key)}
	}},
	{"a key that nobody knows", func(random *rand.Rand, _, value string) (string, []string) {
		return fmt.Sprintf("zz%d.unheard_of: %s", random.IntN(100), value), []string{"unknown setting", "did you mean"}
	}},
	{"a value of another kind", func(_ *rand.Rand, key, value string) (string, []string) {
		return key + ": [" + value + ", {a: b}]", []string{key}
	}},
	{"a value that is no value", func(_ *rand.Rand, key, _ string) (string, []string) {
		if strings.HasSuffix(key, ".dir") || strings.HasSuffix(key, ".database") {
			return "", nil // any text will do
		}
		return key + ": ten of them", []string{key}
	}},
	{"settings below a setting", func(_ *rand.Rand, key, value string) (string, []string) {
		return key + ": {inner: {inner: " + value + "}}", []string{key}
	}},
	{"no closing bracket", func(_ *rand.Rand, key, value string) (string, []string) {
		return key + ": [" + value, nil
	}},
	{"twice", func(_ *rand.Rand, key, value string) (string, []string) {
		return key + ": " + value + "\n" + key + ": " + value, []string{key}
	}},
}

// lastPart is where a key's last part begins.
func lastPart(key string) int { return strings.LastIndexByte(key, '.') + 1 }

func quoted(key string) string { return fmt.Sprintf("%q", key) }

// wrongUsage is the exit code of who is called with what cannot be meant.
const wrongUsage = 2

func playConfigurations(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	file := filepath.Join(g.Dir, "collector.yaml")
	if code, said, err := g.startWith(ctx, file, strings.Join(append(soundSettings, "query.timeout: never"),
		"\n")); err != nil || code != wrongUsage || !strings.Contains(said, `"query.timeout" already`) ||
		strings.Count(said, file+":") != 1 {
		return o, fmt.Errorf("the settings that are to be changed are not sound: exit code %d: %s: %w", code, said, err)
	}
	kinds := map[string]int{}
	for try := 0; o.Tries < tries; try++ {
		random := g.Random(try)
		at, m := random.IntN(len(soundSettings)), mutations[try%len(mutations)]
		key, value, _ := strings.Cut(soundSettings[at], ": ")
		line, wanted := m.apply(random, key, value)
		if line == "" {
			continue
		}
		lines := append([]string(nil), soundSettings...)
		lines[at] = line
		code, said, err := g.startWith(ctx, file, strings.Join(lines, "\n")+"\n")
		if err != nil {
			return o, err
		}
		o.Tries++
		kinds[m.name]++
		wrong := ""
		for _, text := range wanted {
			if !strings.Contains(said, text) {
				wrong += fmt.Sprintf(" it lacks %s;", text)
			}
		}
		if !located(said, file, at+1, len(strings.Split(line, "\n"))) {
			wrong += " it lacks file or line;"
		}
		if code != wrongUsage || wrong != "" {
			o.Broken = append(o.Broken, fmt.Sprintf("%s in line %d, %q: exit code %d,%s it said: %.400s", m.name, at+1,
				line, code, wrong, said))
		}
	}
	o.Measured = append(o.Measured, fmt.Sprintf("files refused, by what was wrong: %v", kinds))
	return o, nil
}

// located reports whether the file is named with a line, of those that a setting takes up, and the one behind it, at
// which a reader of YAML sees that a bracket is missing.
func located(said, file string, line, lines int) bool {
	for l := line; l <= line+lines; l++ {
		if strings.Contains(said, fmt.Sprintf("%s:%d:", file, l)) ||
			strings.Contains(said, fmt.Sprintf("%s: [%d:", file, l)) {
			return true
		}
	}
	return false
}

// startsWithin is after how long a program that has not refused its settings is killed, and its exit code -1.
const startsWithin = 20 * time.Second

// startWith starts the program with a file of settings and returns how it ended. It has to end by itself.
func (g *Ground) startWith(ctx context.Context, file, text string) (code int, said string, err error) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startsWithin)
	defer cancel()
	output, err := exec.CommandContext(ctx, g.Binary, "serve", "--config", file, "--data-dir",
		filepath.Join(g.Dir, "untouched"), "--grpc-listen", "127.0.0.1:0",
		"--http-listen", "127.0.0.1:0").CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 0, string(output), fmt.Errorf("starting the program: %w", err)
	}
	if failed != nil {
		code = failed.ExitCode()
	}
	return code, string(output), nil
}
