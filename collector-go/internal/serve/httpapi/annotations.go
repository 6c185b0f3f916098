package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// annotationsListed is the number of annotations that an answer lists unless the parameter limit sets another number.
// The newest ones are listed.
const annotationsListed = 1_000

// maxAnnotationBytes bounds the body of a request that sets an annotation. It allows for texts that JSON escapes.
const maxAnnotationBytes = 128 << 10

// annotation is the JSON form of an annotation, both for reading and for writing. It is written with RFC 3339 times;
// when it is read, a time may also be seconds since 1970.
type annotation struct {
	ID       string   `json:"id"`
	Topology string   `json:"topology"`
	Time     moment   `json:"time"`
	EndTime  moment   `json:"end_time,omitempty"`
	Title    string   `json:"title"`
	Text     string   `json:"text"`
	Tags     []string `json:"tags"`
	Origin   string   `json:"origin,omitempty"`
}

// moment is a time in JSON: a string, or a number when it is read. It stays text until ms checks it, so that an error
// can name the parameter and show what was sent.
type moment string

// UnmarshalJSON accepts a string or a number. The value is checked later, by ms.
func (m *moment) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		var seconds json.Number
		if err := json.Unmarshal(data, &seconds); err != nil {
			return errors.New("time must be Unix seconds or an RFC 3339 string")
		}
		text = seconds.String()
	}
	*m = moment(text)
	return nil
}

const lastMs = 253_402_300_799_999 // the end of year 9999, the last time that RFC 3339 can express

// ms returns the time in ms since 1970, or 0 if there is none.
func (m moment) ms() (int64, error) {
	if m == "" {
		return 0, nil
	}
	t, err := parseTime(string(m))
	if err != nil {
		return 0, err
	}
	if t.UnixMilli() <= 0 || t.UnixMilli() > lastMs {
		return 0, fmt.Errorf("%q is not between the years 1970 and 9999", string(m))
	}
	return t.UnixMilli(), nil
}

func momentOf(ms int64) moment {
	if ms == 0 {
		return ""
	}
	return moment(registry.TimeText(min(max(ms, 0), lastMs)))
}

// shown converts an annotation of the registry to its JSON form.
func shown(a registry.Annotation) annotation {
	out := annotation{ID: a.ID, Topology: a.Topology, Time: momentOf(a.TimeMs), EndTime: momentOf(a.EndMs),
		Title: a.Title, Text: a.Text, Tags: a.Tags, Origin: a.Origin.String()}
	if out.Tags == nil {
		out.Tags = []string{}
	}
	return out
}

// annotations answers GET /annotations. It returns the annotations that overlap [start, end] and have every tag, for
// one topology or, without the parameter topology, for all.
func (a *api) annotations(r request) answer {
	start, end, wrongTime := timeRange(r)
	limit, wrongLimit := limitParameter(r)
	if err := cmp.Or(wrongTime, wrongLimit); err != nil {
		return badData(err)
	}
	found, missing := a.options.Federation.Annotations(r.Context(), registry.Filter{
		Topology: r.FormValue("topology"), FromMs: start.UnixMilli(), ToMs: end.UnixMilli(), Tags: r.Form["tag"],
		Limit: cmp.Or(limit, annotationsListed),
	})
	all := make([]annotation, 0, len(found))
	for _, one := range found {
		all = append(all, shown(one))
	}
	return answer{data: all, warnings: warned(missing)}
}

// annotate answers POST /annotations. It sets an annotation and returns it once it is on disk. A page of another site
// cannot call it: a browser sends JSON across sites only after a CORS permission, which this server never grants.
// Local also refuses such requests.
func (a *api) annotate(r request) answer {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return answer{err: &apiError{errorMediaType,
			errors.New("annotations must be sent as JSON with Content-Type: application/json")}}
	}
	asked, err := readAnnotation(r)
	if err != nil {
		return badData(err)
	}
	if _, err := a.admit(r.Request, access.Requirement{Scope: access.Write, Topology: asked.Topology}); err != nil {
		return answer{err: refusal(err)}
	}
	set, err := a.options.Registry.Annotate(r.Context(), asked)
	if err != nil {
		return answer{err: refused(err)}
	}
	return answer{data: shown(set)}
}

func readAnnotation(r request) (out registry.Annotation, err error) {
	var in annotation
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxAnnotationBytes))
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return out, fmt.Errorf("invalid annotation: %w", textfile.JSONFault(err))
	}
	out = registry.Annotation{ID: in.ID, Topology: in.Topology, Title: in.Title, Text: in.Text, Tags: in.Tags}
	if out.TimeMs, err = in.Time.ms(); err != nil {
		return out, fmt.Errorf("time: %w", err)
	}
	if out.EndMs, err = in.EndTime.ms(); err != nil {
		return out, fmt.Errorf("end_time: %w", err)
	}
	return out, nil
}

// refused wraps the error of the registry with a type from which clients see whether the request or the server is at
// fault.
func refused(err error) *apiError {
	var invalid *registry.InvalidError
	switch {
	case errors.As(err, &invalid):
		return &apiError{errorBadData, err}
	case isCanceled(err):
		return &apiError{errorCanceled, err}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{errorTimeout, err}
	case errors.Is(err, journal.ErrFull) || errors.Is(err, journal.ErrClosed):
		return &apiError{errorUnavailable, err}
	}
	return &apiError{errorInternal, err}
}
