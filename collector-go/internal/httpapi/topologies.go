package httpapi

import (
	"fmt"
)

// topologies answers /topologies: what is known, by name.
func (a *api) topologies(request) answer { return answer{data: a.options.Registry.Topologies()} }

// topology answers /topologies/{name}: all of the newest run, or of the one that the parameter id names.
func (a *api) topology(r request) answer {
	name, id := r.PathValue("name"), r.FormValue("id")
	found, ok := a.options.Registry.Topology(name, id)
	switch {
	case ok:
		return answer{data: found}
	case id != "":
		return notFound(fmt.Errorf(
			"no run of topology %q has the id %q; /api/v1/topologies/{name} lists those that are remembered", name, id))
	}
	return notFound(fmt.Errorf("no topology %q has reported; /api/v1/topologies lists those that have", name))
}

func notFound(err error) answer { return answer{err: &apiError{errorNotFound, err}} }
