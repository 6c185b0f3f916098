package stack

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// JavaVersion returns the first line of the output of java -version.
func (o Options) JavaVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, o.Java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("get the version of %s: %w", o.Java, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}

// KafkaVersion returns the version of the broker that these options start, from the names of its jars. It is "" if
// they start none.
func (o Options) KafkaVersion() string {
	if o.Kafka == nil || o.Kafka.Bootstrap != "" {
		return ""
	}
	const name = "kafka-clients-"
	jars, _ := filepath.Glob(o.built(filepath.Join("kafka", "lib", name+"*.jar")))
	if len(jars) != 1 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), name), ".jar")
}
