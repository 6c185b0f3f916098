package httpapi

import (
	"context"
	"net/http"
)

// whole answers by f once the collector has all that was acknowledged before its start: an answer that lacks some of it
// would not say so.
func (a *api) whole(f func(request) answer) func(request) answer {
	return func(r request) answer {
		if err := a.loaded(r.Context()); err != nil {
			return answer{err: &apiError{errorUnavailable, err}}
		}
		return f(r)
	}
}

// wholePage is whole for what is no answer of the API.
func (a *api) wholePage(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.loaded(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		f(w, r)
	}
}

func (a *api) loaded(ctx context.Context) error {
	if a.options.Loaded == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.LoadTimeout)
	defer cancel()
	return a.options.Loaded(ctx)
}
