package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
)

func TestDiagnosis(t *testing.T) {
	var asked diagnosis.Question
	handler := newHandler(t, openFixture(t), func(o *Options) {
		o.Diagnose = func(_ context.Context, q diagnosis.Question) (*diagnosis.Answer, error) {
			asked = q
			if q.Alert == "Slwo" {
				return nil, &diagnosis.UnknownAlertError{Name: q.Alert, Known: []string{"Slow"}}
			}
			return &diagnosis.Answer{Alert: diagnosis.Alert{Name: q.Alert}}, nil
		}
	})
	ask := func(form string) (int, string) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/why?"+form, nil))
		return recorder.Code, recorder.Body.String()
	}
	for form, want := range map[string]string{
		"":                          `parameter \"alert\" is missing`,
		"alert=Slow&window=10s":     "10s is not between 1m and 24h",
		"alert=Slow&window=25h":     "25h0m0s is not between 1m and 24h",
		"alert=Slow&window=soon":    `invalid parameter \"window\"`,
		"alert=Slow&time=yesterday": `invalid parameter \"time\"`,
	} {
		code, body := ask(form)
		assert.Equal(t, http.StatusBadRequest, code, form)
		assert.Contains(t, body, want)
	}
	code, body := ask("alert=Slwo")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, body, "active now: Slow")
	code, body = ask("alert=Slow&topology=bullet&window=1h&time=1700000000")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `{"status":"success","data":{"alert":{"name":"Slow"`)
	assert.Equal(t, diagnosis.Question{Alert: "Slow", Topology: "bullet", Window: time.Hour,
		At: time.Unix(1_700_000_000, 0).UTC(), Now: asked.Now}, asked)
	assert.WithinDuration(t, time.Now(), asked.Now, time.Minute)
}
