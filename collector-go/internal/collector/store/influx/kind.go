package influx

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"

// InfluxDB 1.8 has the API of version 2 too, so a bucket may also name a database of InfluxDB 1.8.
func init() {
	forward.Register(forward.Kind{
		Name: "influxdb", Address: "an InfluxDB, such as http://localhost:8086", Receiver: "the InfluxDB",
		Settings: []forward.Setting{
			{Name: "bucket", Usage: "bucket of InfluxDB 2, or DATABASE/RETENTION_POLICY of InfluxDB 1.8 or later"},
			{Name: "org", Usage: "organisation of InfluxDB 2"},
			{Name: "database", Usage: "database of InfluxDB 1, written to through its endpoint /write"},
			{Name: "retention_policy", Usage: "retention policy of InfluxDB 1; the database's default if not set"},
		},
		Build: func(at forward.Receiver, own map[string]string) forward.Builder {
			return Options{Receiver: at, Org: own["org"], Bucket: own["bucket"], Database: own["database"],
				RetentionPolicy: own["retention_policy"]}
		},
	})
}

// Protocol implements forward.Builder.
func (o Options) Protocol() (forward.Protocol, error) { return New(o) }
