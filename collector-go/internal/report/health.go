package report

// healthBlocks are the collection's health in detail, for the first page.
func (r *RunReport) healthBlocks() []block { return nil }
