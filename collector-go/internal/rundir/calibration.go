package rundir

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"

// Reading is one look at the host while the record rate was calibrated.
type Reading struct {
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	HostIdle         tuning.Figure `json:"host_idle"`
}

// Calibration is how the record rate was found.
type Calibration struct {
	TargetIdle       tuning.Figure `json:"target_idle"`
	Readings         []Reading     `json:"readings"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
}
