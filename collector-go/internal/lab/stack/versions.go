package stack

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// JavaVersion is the first line that the Java of these options says of itself.
func (o Options) JavaVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, o.Java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", o.Java, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}

// KafkaVersion is that of the broker that these options start, as its jars are named; "" where they start none.
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
