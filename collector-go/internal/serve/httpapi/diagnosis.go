package httpapi

import (
	"errors"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
)

// longestWindow bounds the data that one answer reads, which cover three times the window.
const longestWindow = 24 * time.Hour

// diagnose answers /api/v1/why: what changed before an alert, and its most likely cause. An unknown alert is answered
// with 404.
func (a *api) diagnose(r request) answer {
	q := diagnosis.Question{Alert: r.FormValue("alert"), Topology: r.FormValue("topology"),
		Window: diagnosis.DefaultWindow, Now: a.now()}
	if q.Alert == "" {
		return badData(errors.New(`parameter "alert" is missing; set it to the name of an alert`))
	}
	var err error
	if r.FormValue("time") != "" {
		if q.At, err = timeParameter(r, "time", time.Time{}); err != nil {
			return badData(err)
		}
	}
	if text := r.FormValue("window"); text != "" {
		if q.Window, err = parseDuration(text); err != nil {
			return invalidParameter("window", err)
		}
		if q.Window < time.Minute || q.Window > longestWindow {
			return invalidParameter("window", fmt.Errorf("%s is not between 1m and 24h", q.Window))
		}
	}
	found, err := a.options.Diagnose(r.Context(), q)
	var unknown *diagnosis.UnknownAlertError
	switch {
	case errors.As(err, &unknown):
		return answer{err: &apiError{errorNotFound, err}}
	case err != nil:
		return answer{err: failed(err)}
	}
	return answer{data: found}
}
