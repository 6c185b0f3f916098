package httpapi

// described is a catalog for tests.
type described map[string]Metadata

func (d described) Metadata() map[string]Metadata { return d }
