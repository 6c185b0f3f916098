package httpapi

import (
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/util/annotations"
)

// topologies answers /topologies: all known topologies, sorted by name.
func (a *api) topologies(r request) answer {
	all, missing := a.options.Federation.Topologies(r.Context())
	return answer{data: all, warnings: warned(missing)}
}

// warned returns the warning that the data of other collectors are missing, if missing is not nil.
func warned(missing error) (all annotations.Annotations) {
	if missing != nil {
		all.Add(missing)
	}
	return all
}

// topology answers /topologies/{name}: the details of the newest run, or of the run that the parameter id names.
func (a *api) topology(r request) answer {
	name, id := r.PathValue("name"), r.FormValue("id")
	found, ok, missing := a.options.Federation.Topology(r.Context(), name, id)
	switch {
	case ok:
		return answer{data: found, warnings: warned(missing)}
	case missing != nil:
		return answer{err: &apiError{errorUnavailable, fmt.Errorf("topology %q does not report to this collector; %w", name, missing)}}
	case id != "":
		return notFound(fmt.Errorf(
			"no run of topology %q has the id %q; /api/v1/topologies/{name} lists the known runs", name, id))
	}
	return notFound(fmt.Errorf("topology %q has not reported; /api/v1/topologies lists the known topologies", name))
}

func notFound(err error) answer { return answer{err: &apiError{errorNotFound, err}} }

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
