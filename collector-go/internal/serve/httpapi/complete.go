package httpapi

import (
	"context"
	"net/http"
)

// complete delays f until the collector has replayed all data that were acknowledged before it started. An earlier
// answer would lack data without saying so.
func (a *api) complete(f func(request) answer) func(request) answer {
	return func(r request) answer {
		if err := a.loaded(r.Context()); err != nil {
			return answer{err: &apiError{errorUnavailable, err}}
		}
		return f(r)
	}
}

// completePage is like complete, for handlers that do not answer in the API's JSON form.
func (a *api) completePage(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.loaded(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		f(w, r)
	}
}

// loaded waits for the replay, at most for LoadTimeout. If the replay is not finished by then, the error says how far
// it is.
func (a *api) loaded(ctx context.Context) error {
	if a.options.Loaded == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.LoadTimeout)
	defer cancel()
	return a.options.Loaded(ctx)
}
