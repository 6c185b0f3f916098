//go:build stores

package servertest

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// influxdb is a real InfluxDB.
func influxdb(t testing.TB, program string) *Server {
	return start(t, &Server{ready: "/ping", command: func(dir, address string) *exec.Cmd {
		in := func(part string) string { return filepath.Join(dir, part) }
		return withEnvironment(exec.Command(program, "run", "-config", "/dev/null"),
			"INFLUXDB_REPORTING_DISABLED=true", "INFLUXDB_META_DIR="+in("meta"), "INFLUXDB_DATA_DIR="+in("data"),
			"INFLUXDB_DATA_WAL_DIR="+in("wal"),
			"INFLUXDB_HTTP_BIND_ADDRESS="+address, "INFLUXDB_BIND_ADDRESS=127.0.0.1:0",
			"INFLUXDB_HTTP_FLUX_ENABLED=true",
			"INFLUXDB_HTTP_LOG_ENABLED=false", "INFLUXDB_LOGGING_LEVEL=error", "INFLUXDB_MONITOR_STORE_ENABLED=false")
	}})
}

// createDatabase makes a database on an InfluxDB.
func createDatabase(s *Server, name string) {
	ask(s, "", `CREATE DATABASE "`+name+`"`)
}

type influxAnswer struct {
	Results []struct {
		Series []struct {
			Name    string
			Tags    map[string]string
			Columns []string
			Values  [][]any
		}
		Error string
	}
}

func ask(s *Server, database, statement string) influxAnswer {
	form := url.Values{"db": {database}, "q": {statement}, "epoch": {"ms"}}
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/query", strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer influxAnswer
	decoder := json.NewDecoder(strings.NewReader(string(s.do(request))))
	decoder.UseNumber()
	require.NoError(s.t, decoder.Decode(&answer))
	for _, r := range answer.Results {
		require.Empty(s.t, r.Error)
	}
	return answer
}

// readInfluxDB gives back all points of a database.
func readInfluxDB(s *Server, database string) map[string][]storetest.Point {
	all := map[string][]storetest.Point{}
	for _, result := range ask(s, database, `SELECT * FROM /.*/ GROUP BY *`).Results {
		for _, series := range result.Series {
			b := labels.NewBuilder(labels.EmptyLabels())
			b.Set(model.MetricNameLabel, series.Name)
			for name, v := range series.Tags {
				b.Set(name, v)
			}
			key := b.Labels().String()
			for _, row := range series.Values {
				all[key] = append(all[key], influxPoint(s.t, series.Columns, row))
			}
		}
	}
	return all
}

func influxPoint(t testing.TB, columns []string, row []any) storetest.Point {
	var endMs int64
	v := math.NaN()
	for i, column := range columns {
		var err error
		switch {
		case row[i] == nil:
		case column == "time":
			endMs, err = row[i].(json.Number).Int64()
		case column == "value":
			v, err = row[i].(json.Number).Float64()
		case column == "gap":
			require.Equal(t, true, row[i])
			v = math.Float64frombits(value.StaleNaN)
		}
		require.NoError(t, err)
	}
	return storetest.Number(endMs, v)
}
