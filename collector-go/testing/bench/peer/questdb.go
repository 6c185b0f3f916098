package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// questDB is QuestDB, whose jar has all that it needs.
type questDB struct {
	java, jar string
	process   *bench.Process
}

func newQuestDB(tools string) (Peer, error) {
	jar, err := program(tools, "questdb.jar")
	if err != nil {
		return nil, err
	}
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	return &questDB{java: java, jar: jar}, nil
}

// Start implements Peer. What else it would listen at is off; the JVM's options are those of its own start script.
func (q *questDB) Start(ctx context.Context, dir string) (*bench.Process, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o750); err != nil {
		return nil, err
	}
	c := command([]string{"QDB_HTTP_BIND_TO=" + address, "QDB_HTTP_MIN_ENABLED=false", "QDB_PG_ENABLED=false",
		"QDB_LINE_TCP_ENABLED=false", "QDB_TELEMETRY_ENABLED=false"},
		q.java, "-XX:+UseParallelGC", "-p", q.jar, "-m", "io.questdb/io.questdb.ServerMain", "-d", data)
	q.process, err = bench.StartCommand(ctx, c, "http://"+address, "/exec?query=select%201", filepath.Join(dir, "log"))
	return q.process, err
}

// Sender implements Peer.
func (q *questDB) Sender() (Sender, error) {
	if q.process == nil {
		return nil, errEnded
	}
	return newLineSender(q.process.Base() + "/write?precision=n"), nil
}

// Count implements Peer. Rows are there once its log was applied to the table.
func (q *questDB) Count(ctx context.Context, metric int, of Span) (values, sum float64, err error) {
	statement := fmt.Sprintf("select count(%[1]s), sum(%[1]s) from cpu where timestamp between %[2]d000 and %[3]d000",
		column(metric), of.FirstMs, of.LastMs)
	body, err := q.process.Get(ctx, "/exec?"+url.Values{"query": {statement}}.Encode())
	if err != nil {
		return 0, 0, err
	}
	var answer struct{ Dataset [][]*float64 }
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, 0, err
	}
	return pair(answer.Dataset, statement)
}

// pair is a count and a sum; the sum of nothing is null.
func pair(rows [][]*float64, statement string) (values, sum float64, err error) {
	if len(rows) != 1 || len(rows[0]) != 2 || rows[0][0] == nil {
		return 0, 0, fmt.Errorf("%s answers %d rows", statement, len(rows))
	}
	if rows[0][1] != nil {
		sum = *rows[0][1]
	}
	return *rows[0][0], sum, nil
}
