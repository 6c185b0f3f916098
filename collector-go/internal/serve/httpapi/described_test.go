package httpapi

// described is a catalogue of a test.
type described map[string]Metadata

func (d described) Metadata() map[string]Metadata { return d }
