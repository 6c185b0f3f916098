package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// admit returns the caller if it has the required permission, and otherwise an error. Without a guard every caller has
// every permission.
func (a *api) admit(r *http.Request, required access.Requirement) (access.Caller, error) {
	if a.options.Guard == nil {
		return access.Caller{Name: "address " + quota.Address(r.RemoteAddr)}, nil
	}
	return a.options.Guard.Admit(access.Peer{Address: r.RemoteAddr, TLS: r.TLS,
		Authorization: r.Header.Values("Authorization")}, required)
}

// note counts and logs a refusal that was not decided by the guard.
func (o Options) note(reason access.Reason, r *http.Request, detail string) {
	if o.Guard != nil {
		o.Guard.Note(reason, r.RemoteAddr, detail)
	}
}

// guarded runs next only for callers that have the scope of the route. It also limits each caller to a share of the
// concurrent requests, so that no client can block the others.
func (a *api) guarded(scope access.Scope, next http.Handler) http.Handler {
	if scope == everybody {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.admit(r, access.Requirement{Scope: scope})
		if err != nil {
			a.turnAway(w, r, err)
			return
		}
		release, err := a.requests.Take(caller.Name)
		if err != nil {
			a.options.note(access.NoSlots, r, "request: "+err.Error())
			a.turnAway(w, r, &access.Refusal{Reason: access.NoSlots, Detail: "too many requests at a time: " +
				err.Error()})
			return
		}
		defer release()
		next.ServeHTTP(w, r.WithContext(query.WithClient(r.Context(), caller.Name)))
	})
}

// others answers paths that have no route. A caller without the read scope is refused there too, because a 404 or 405
// would reveal which paths exist.
func (a *api) others(mux *http.ServeMux) http.Handler {
	stranger := a.guarded(access.Read, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			stranger.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// turnAway writes the response to a refused request.
func (a *api) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	refused := refusal(err)
	if a.options.Guard != nil && refused.typ == errorUnauthorized {
		if a.options.Guard.Users() {
			w.Header().Add("WWW-Authenticate", `Basic realm="Bullet Metrics", charset="UTF-8"`)
		}
		w.Header().Add("WWW-Authenticate", "Bearer")
	}
	if refused.status() == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		a.write(w, request{Request: r}, answer{err: refused})
		return
	}
	http.Error(w, err.Error(), refused.status())
}

// refusal converts an error of the guard to an error with one of the API's types.
func refusal(err error) *apiError {
	var refused *access.Refusal
	switch {
	case !errors.As(err, &refused):
		return &apiError{errorInternal, err}
	case refused.Reason == access.Closed:
		return &apiError{errorUnavailable, err}
	case refused.Reason == access.Busy || refused.Reason == access.TooFast || refused.Reason == access.NoSlots:
		return &apiError{errorTooMany, err}
	case refused.Unauthenticated():
		return &apiError{errorUnauthorized, err}
	}
	return &apiError{errorForbidden, err}
}

// headed adds the headers that every answer has. It also enforces the request rate of the web configuration file.
func (a *api) headed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		// no page of another site may embed it as an image or script
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if guard := a.options.Guard; guard != nil {
			for name, value := range guard.Headers() {
				h.Set(name, value)
			}
			if err := guard.Pace(r.RemoteAddr); err != nil {
				a.turnAway(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
