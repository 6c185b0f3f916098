package httpapi

import (
	"errors"
)

var errNoRuns = errors.New(
	"runs.dir is not set: set it to the directory that bullet-metrics tune run writes to, such as out/tune")

// runs answers /api/v1/runs: the experiment runs with their verdicts and the URLs of their reports, newest first. The
// route exists even if no directory is configured, so that the page can explain how to configure one.
func (a *api) runs(request) answer {
	if a.options.Runs == nil {
		return notFound(errNoRuns)
	}
	list, err := a.options.Runs.List()
	if err != nil {
		return answer{err: &apiError{errorInternal, err}}
	}
	return answer{data: list}
}
