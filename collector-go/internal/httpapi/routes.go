package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/prometheus/util/httputil"
)

// New returns the handler alone: the routes behind the bounds that hold for every request.
func New(options Options) (http.Handler, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	a := newAPI(options)
	mux := http.NewServeMux()
	for _, r := range a.routes() {
		mux.Handle(r.pattern, r.handler)
	}
	counted := instrument(options.Registerer, mux)
	return checkHost(options.Hosts, bounded(options.RequestTimeout, options.MaxBodyBytes, counted)), nil
}

type route struct {
	pattern string
	handler http.Handler
}

// routes are all that is served. Paths, methods and answers under /api/v1 are Prometheus', but for collection, topologies, annotations,
// why and runs, which it has not.
func (a *api) routes() []route {
	get := func(path string, f func(request) answer) route { return route{"GET " + path, a.serve(f)} }
	post := func(path string, f func(request) answer) route { return route{"POST " + path, a.serve(f)} }
	routes := []route{
		get("/api/v1/query", a.query), post("/api/v1/query", a.query),
		get("/api/v1/query_range", a.queryRange), post("/api/v1/query_range", a.queryRange),
		get("/api/v1/query_exemplars", a.exemplars), post("/api/v1/query_exemplars", a.exemplars),
		get("/api/v1/format_query", a.formatQuery), post("/api/v1/format_query", a.formatQuery),
		get("/api/v1/labels", a.labelNames), post("/api/v1/labels", a.labelNames),
		get("/api/v1/label/{name}/values", a.labelValues),
		get("/api/v1/series", a.series), post("/api/v1/series", a.series),
		get("/api/v1/metadata", a.metadata),
		get("/api/v1/rules", a.rules), get("/api/v1/alerts", a.alerts), get("/api/v1/alertmanagers", a.alertmanagers),
		get("/api/v1/collection/{name}", a.collection),
		get("/api/v1/status/buildinfo", a.buildInfo),
		get("/api/v1/status/runtimeinfo", a.runtimeInfo),
		{"GET /metrics", promhttp.HandlerFor(a.options.Gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: 10, Timeout: 30 * time.Second})},
		{"GET /federate", httputil.CompressionHandler{Handler: http.HandlerFunc(a.federate)}},
		{"GET /-/healthy", http.HandlerFunc(healthy)},
		{"GET /-/ready", http.HandlerFunc(a.ready)},
		get("/api/v1/runs", a.runs),
	}
	if a.options.Page != nil {
		routes = append(routes, route{"GET /{$}", a.options.Page}, route{"GET /page/", a.options.Page})
	}
	if a.options.Runs != nil {
		routes = append(routes, route{"GET /runs/{name}/{$}", a.options.Runs})
	}
	if a.options.Why != nil {
		routes = append(routes, get("/api/v1/why", a.why))
	}
	if a.options.Registry != nil {
		routes = append(routes,
			get("/api/v1/topologies", a.topologies), get("/api/v1/topologies/{name}", a.topology),
			get("/api/v1/annotations", a.annotations), post("/api/v1/annotations", a.annotate))
	}
	return routes
}

// serve turns f into a handler, compressed as Prometheus does. It answers whether or not the collector is ready for samples:
// who looks into a full disk needs answers.
func (a *api) serve(f func(request) answer) http.Handler {
	return httputil.CompressionHandler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := parseForm(r)
		result := f(asked)
		if asked.tooLarge() {
			result.err = &apiError{errorBadData, asked.formError}
		}
		if result.done != nil {
			defer result.done()
		}
		a.write(w, asked, result)
	})}
}

// bounded limits what a request may take: time and body.
func bounded(limit time.Duration, body int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, body)
		next.ServeHTTP(w, r)
	})
}

// instrument counts requests by route, so that no path that a client makes up becomes a series.
func instrument(r prometheus.Registerer, mux *http.ServeMux) http.Handler {
	if r == nil {
		return mux
	}
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "bullet_metrics_http_request_seconds", Help: "How long requests took to answer, by route and status code, in seconds.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
	}, []string{"route", "code"})
	r.MustRegister(took)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, pattern := mux.Handler(req)
		if pattern == "" {
			pattern = "none"
		}
		promhttp.InstrumentHandlerDuration(took.MustCurryWith(prometheus.Labels{"route": pattern}), mux).ServeHTTP(w, req)
	})
}
