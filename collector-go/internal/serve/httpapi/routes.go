package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/prometheus/util/httputil"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
)

// New returns the handler of all routes, with the limits that apply to every request. It starts no server.
func New(options Options) (http.Handler, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Registry != nil && options.Federation == nil {
		options.Federation = federation.New(options.Registry, nil, time.Now)
	}
	a := newAPI(options)
	mux := http.NewServeMux()
	for _, r := range a.routes() {
		mux.Handle(r.pattern, a.guarded(r.scope, r.handler))
	}
	counted := measured(options.Registerer, mux, a.others(mux))
	linked := func(r *http.Request) bool {
		_, pattern := mux.Handler(r)
		return slices.Contains(navigable, pattern)
	}
	return a.headed(Local(options.Hosts, linked, options.note, bounded(options, counted))), nil
}

// route is a pattern with its handler and the scope that a caller needs.
type route struct {
	pattern string
	scope   access.Scope
	handler http.Handler
}

// liveRoute is the pattern of the stream of live samples.
const liveRoute = "GET /api/v1/live"

// everybody is the scope of routes that need no permission. They only show whether the collector is alive.
const everybody access.Scope = ""

// navigable are the patterns that a link on another site may open. They are pages for people.
var navigable = []string{"GET /{$}", "GET /graph", "GET /runs/{name}/{$}", "GET /runbooks/{page...}"}

// routes returns all routes. Paths, methods and answers under /api/v1 are those of Prometheus, except for collection,
// topologies, annotations, live, why and runs, which Prometheus does not have.
func (a *api) routes() []route {
	get := func(path string, f func(request) answer) route { return route{"GET " + path, access.Read, a.serve(f)} }
	post := func(path string, f func(request) answer) route { return route{"POST " + path, access.Read, a.serve(f)} }
	query, queryRange, labelNames, series := a.complete(a.query), a.complete(a.queryRange), a.complete(a.labelNames),
		a.complete(a.series)
	routes := []route{
		get("/api/v1/query", query), post("/api/v1/query", query),
		get("/api/v1/query_range", queryRange), post("/api/v1/query_range", queryRange),
		get("/api/v1/query_exemplars", a.exemplars), post("/api/v1/query_exemplars", a.exemplars),
		get("/api/v1/format_query", a.formatQuery), post("/api/v1/format_query", a.formatQuery),
		get("/api/v1/labels", labelNames), post("/api/v1/labels", labelNames),
		get("/api/v1/label/{name}/values", a.complete(a.labelValues)),
		get("/api/v1/series", series), post("/api/v1/series", series),
		get("/api/v1/metadata", a.metadata),
		get("/api/v1/rules", a.complete(a.rules)), get("/api/v1/alerts", a.complete(a.alerts)),
		get("/api/v1/alertmanagers", a.alertmanagers),
		get("/api/v1/collection/{name}", a.complete(a.collection)),
		get("/api/v1/status/buildinfo", a.buildInfo),
		get("/api/v1/status/runtimeinfo", a.runtimeInfo),
		get("/api/v1/status/flags", a.flags),
		{"GET /metrics", access.Read,
			promhttp.HandlerFor(a.options.Gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: 10,
				Timeout: 30 * time.Second})},
		{"GET /federate", access.Read, httputil.CompressionHandler{Handler: a.completePage(a.federate)}},
		{"GET /-/healthy", everybody, http.HandlerFunc(healthy)},
		{"GET /-/ready", everybody, http.HandlerFunc(a.ready)},
		get("/api/v1/runs", a.runs),
	}
	if a.options.Page != nil {
		routes = append(routes, route{"GET /{$}", access.Read, a.options.Page},
			route{"GET /page/", access.Read, a.options.Page}, route{"GET /graph", access.Read, http.HandlerFunc(graph)})
	}
	if a.options.Reloader != nil {
		routes = append(routes, route{"POST /-/reload", access.Write, a.completePage(a.reload)},
			route{"PUT /-/reload", access.Write, a.completePage(a.reload)})
	}
	if a.options.Runbooks != nil {
		routes = append(routes, route{"GET /runbooks/{page...}", access.Read,
			http.StripPrefix("/runbooks", a.options.Runbooks)})
	}
	if a.options.Runs != nil {
		routes = append(routes, route{"GET /runs/{name}/{$}", access.Read, a.options.Runs})
	}
	if a.options.Diagnose != nil {
		routes = append(routes, get("/api/v1/why", a.complete(a.diagnose)))
	}
	if a.options.Registry != nil {
		routes = append(routes,
			get("/api/v1/topologies", a.complete(a.topologies)), get("/api/v1/topologies/{name}", a.complete(a.topology)),
			get("/api/v1/annotations", a.complete(a.annotations)), route{"POST /api/v1/annotations", access.Write,
				a.serve(a.annotate)})
		if a.options.Live != nil {
			routes = append(routes, route{liveRoute, access.Read, http.HandlerFunc(a.live)})
		}
	}
	return routes
}

// graph redirects to the page and keeps the parameters of the URL. Links in Prometheus' alerts have the form
// /graph?g0.expr=..., which the page can read.
func graph(w http.ResponseWriter, r *http.Request) {
	// relative, because a proxy may serve the collector below a path
	w.Header().Set("Location", "./#"+r.URL.Query().Encode())
	w.WriteHeader(http.StatusFound)
}

// serve turns f into a handler with compression, as Prometheus does. It works even if the collector does not accept
// samples: an operator who examines a full disk needs answers.
func (a *api) serve(f func(request) answer) http.Handler {
	return httputil.CompressionHandler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := parseForm(r)
		result := f(asked)
		if err := asked.refused(); err != nil {
			result.err = &apiError{errorBadData, err}
		}
		if result.done != nil {
			defer result.done()
		}
		a.write(w, asked, result)
	})}
}

// measured measures requests by route. It does not use the path as a label, because clients could then create any
// number of series.
func measured(r prometheus.Registerer, mux *http.ServeMux, next http.Handler) http.Handler {
	if r == nil {
		return next
	}
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bullet_metrics_http_request_seconds",
		Help:    "Duration of HTTP requests by route and status code, in seconds.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
	}, []string{"route", "code"})
	r.MustRegister(took)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, pattern := mux.Handler(req)
		pattern = cmp.Or(pattern, "none")
		if pattern == liveRoute { // it lasts as long as a page is open
			next.ServeHTTP(w, req)
			return
		}
		promhttp.InstrumentHandlerDuration(took.MustCurryWith(prometheus.Labels{"route": pattern}),
			next).ServeHTTP(w, req)
	})
}
