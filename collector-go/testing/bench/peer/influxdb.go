package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// influxDB is InfluxDB 1.
type influxDB struct {
	program string
	process *bench.Process
}

func newInfluxDB(tools string) (Peer, error) {
	path, err := program(tools, "influxd")
	return &influxDB{program: path}, err
}

// Start implements Peer.
func (i *influxDB) Start(ctx context.Context, dir string) (*bench.Process, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	in := func(part string) string { return filepath.Join(dir, part) }
	c := command([]string{"INFLUXDB_REPORTING_DISABLED=true", "INFLUXDB_META_DIR=" + in("meta"), "INFLUXDB_DATA_DIR=" +
		in("data"), "INFLUXDB_DATA_WAL_DIR=" + in("wal"),
		"INFLUXDB_HTTP_BIND_ADDRESS=" + address, "INFLUXDB_BIND_ADDRESS=127.0.0.1:0", "INFLUXDB_HTTP_LOG_ENABLED=false",
		"INFLUXDB_LOGGING_LEVEL=error",
		"INFLUXDB_MONITOR_STORE_ENABLED=false"}, i.program, "run", "-config", "/dev/null")
	if i.process, err = bench.StartCommand(ctx, c, "http://"+address, "/ping", in("log")); err != nil {
		return nil, err
	}
	return i.process, Post(ctx, http.DefaultClient, i.process.Base()+"/query?q="+
		url.QueryEscape(`CREATE DATABASE "bench"`), "application/x-www-form-urlencoded", nil, nil)
}

// Sender implements Peer.
func (i *influxDB) Sender() (Sender, error) {
	if i.process == nil {
		return nil, errEnded
	}
	return newLineSender(i.process.Base() + "/write?db=bench"), nil
}

// Count implements Peer.
func (i *influxDB) Count(ctx context.Context, metric int, of Span) (values, sum float64, err error) {
	statement := fmt.Sprintf(`SELECT count(%[1]q), sum(%[1]q) FROM "cpu" WHERE time >= %[2]dms AND time <= %[3]dms`,
		column(metric), of.FirstMs, of.LastMs)
	body, err := i.process.Get(ctx, "/query?"+url.Values{"db": {"bench"}, "q": {statement}, "epoch": {"ms"}}.Encode())
	if err != nil {
		return 0, 0, err
	}
	var answer struct {
		Results []struct {
			Series []struct{ Values [][]*float64 }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, 0, err
	}
	if len(answer.Results) != 1 || len(answer.Results[0].Series) != 1 {
		return 0, 0, nil // no row yet
	}
	rows := answer.Results[0].Series[0].Values
	if len(rows) == 1 && len(rows[0]) == 3 { // the first is a time
		rows = [][]*float64{rows[0][1:]}
	}
	return pair(rows, statement)
}
