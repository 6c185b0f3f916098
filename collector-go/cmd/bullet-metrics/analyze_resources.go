package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

var resourcesAnalysis = analysis{
	name: "resources", short: "Add up and audit a table of components, and calculate the machines that they need",
	example: "--input resources.csv --cores-per-machine 47 --memory-per-machine-mib 245760",
	columns: "component, parallelism, cpu_cores_total or cpu_cores_each (or cpu_cores with --cpu), on_heap_mib, off_heap_mib, total_memory_mib",
	prepare: prepareResources,
}

func prepareResources(flags *pflag.FlagSet) (func() error, analyze) {
	var machine machineFlags
	var spouts spoutFlags
	cpu := addCPU(flags)
	machine.addFlags(flags)
	flags.IntVar(&spouts.maxPending, "max-spout-pending", 0, "value of topology.max.spout.pending; 0 means not set")
	flags.IntVar(&spouts.batchSize, "batch-size", 1, "records per tuple that the spout emits")
	flags.IntVar(&spouts.partitions, "kafka-partitions", 0,
		"number of partitions that the spouts read; 0 means no Kafka")
	check := func() error { return errors.Join(checkCPU(*cpu), machine.machine().Validate(), spouts.validate()) }
	return check, func(path string) (any, *document.Document, error) {
		result, err := input.Resources(path, csvtable.CPU(*cpu), machine.machine())
		if err != nil {
			return nil, nil, err
		}
		if spouts.maxPending > 0 || spouts.partitions > 0 {
			result.CountPending(spouts.batchSize, spouts.maxPending, spouts.partitions)
		}
		return result, report.OfResources(result), nil
	}
}

// spoutFlags are Storm's settings that bound what is on its way.
type spoutFlags struct{ batchSize, maxPending, partitions int }

func (s spoutFlags) validate() error {
	if s.batchSize < 1 || s.maxPending < 0 || s.partitions < 0 {
		return errors.New("--batch-size must be at least 1, --max-spout-pending and --kafka-partitions at least 0")
	}
	return nil
}
