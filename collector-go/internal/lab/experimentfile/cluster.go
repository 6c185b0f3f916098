package experimentfile

import (
	"cmp"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Cluster holds the facts about an existing cluster that the program cannot find out itself. They go into the manifest
// and from there into reports. A local launch must omit the machine, because it is measured.
type Cluster struct {
	KafkaVersion string   `yaml:"kafka_version"`
	Machines     Machines `yaml:"machines"`
	BusyByOthers Share    `yaml:"busy_by_others"`
}

// Machines describes the machines of the workers. All are assumed to be alike; Cores and Memory are those of one
// machine.
type Machines struct {
	Count       int     `yaml:"count"`
	CPUModel    string  `yaml:"cpu_model"`
	Cores       int     `yaml:"cores"`
	UsableCores float64 `yaml:"usable_cores"`
	Memory      Bytes   `yaml:"memory"`
	Network     string  `yaml:"network"`
}

// Share is a ratio that may be left out.
type Share struct{ Number }

// Set parses a share and notes that it was given, so that 0% differs from an omitted field.
func (s *Share) Set(text string) error {
	var ratio Ratio
	err := ratio.Set(text)
	s.Number = Number{Value: float64(ratio), Given: err == nil}
	return err
}

// Manifest returns the part of the run's manifest that only the file can state: records, cluster and Kafka version.
// The runner adds everything that it can observe itself. A figure that the file omits is Unknown, never 0.
func (f *File) Manifest() runstore.Manifest {
	r := f.Records
	m := runstore.Manifest{Versions: runstore.Versions{Kafka: f.Cluster.KafkaVersion},
		Machine: runstore.Machine{UsableCores: tuning.Unknown},
		Records: runstore.Records{Fields: r.Fields, Strings: r.Strings, Longs: r.Longs, Maps: r.Maps,
			ListsOfMaps: r.ListsOfMaps, MeanRecordBytes: stated(float64(r.MeanSize)),
			CompressionRatio: stated(r.CompressionRatio)}}
	machines := f.Cluster.Machines
	if machines == (Machines{}) && !f.Cluster.BusyByOthers.Given {
		return m
	}
	m.Cluster = &runstore.Cluster{Machines: machines.Count, CPUModel: machines.CPUModel, Cores: machines.Cores,
		UsableCores: stated(cmp.Or(machines.UsableCores, float64(machines.Cores))), MemoryBytes: int64(machines.Memory),
		Network: machines.Network, BusyByOthers: f.Cluster.BusyByOthers.figure()}
	return m
}

// stated returns a figure of the file. It is unknown if the file does not state it, which leaves it 0.
func stated(v float64) tuning.Figure {
	if !(v > 0) {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}

// kafkaPartitions returns the number of partitions of the topic that the records come from. It is 0 if unknown or if
// there is no topic.
func (f *File) kafkaPartitions() int {
	switch {
	case f.Launch.Command != nil:
		return f.Launch.Command.Partitions
	case f.Launch.Local != nil && f.Launch.Local.Kafka != nil:
		return f.Launch.Local.Kafka.Partitions
	}
	return 0
}
