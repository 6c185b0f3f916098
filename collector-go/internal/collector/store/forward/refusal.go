package forward

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// These are the reasons for rejecting a point, and the keys of Append's result. A Protocol may add reasons of its own,
// and "undefined" is a reason too.
const (
	TooOld     = "too_old"       // older than the receiver accepts
	Ahead      = "ahead"         // further ahead of the receiver's clock than it accepts
	OutOfOrder = "out_of_order"  // the receiver has a newer point of the series and accepts none out of order
	Duplicate  = "duplicate"     // the receiver has another value at this time
	Invalid    = "invalid"       // labels or a histogram that the receiver does not accept
	Limit      = "limit"         // a limit of the receiver, on series or labels
	Conflict   = "type_conflict" // the receiver has the field with another type
	TooLarge   = "too_large"     // one slice alone is too large for the receiver
	Other      = "other"         // see the receiver's answer in the log
)

// Refusal is an answer that means that at least one point of the request will never be accepted. The store then splits
// the request until it has found the points that are refused.
type Refusal struct {
	Status int
	Text   string // the beginning of the answer
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused with status %d: %s", r.Status, r.Text) }

// words maps phrases in receivers' answers, in lower case, to reasons. The first phrase that occurs counts.
var words = []struct{ text, reason string }{
	{"too-far-in-future", Ahead}, {"too far in the future", Ahead}, {"timestamp too new", Ahead},
	{"out-of-order", OutOfOrder}, {"out of order", OutOfOrder},
	{"too old", TooOld}, {"too-old", TooOld}, {"beyond retention", TooOld}, {"outside retention", TooOld},
	{"out of bounds", TooOld},
	{"duplicate", Duplicate}, {"same timestamp", Duplicate},
	{"type conflict", Conflict},
	{"limit", Limit}, {"max-series", Limit}, {"max-label", Limit}, {"max-values", Limit},
	{"unable to parse", Invalid}, {"invalid", Invalid}, {"histogram", Invalid},
}

// reason returns why a point is refused. Prometheus answers "out of bounds" for points that are too old and for points
// that are too far ahead; the point's time decides which.
func (r *Refusal) reason(p Point, now time.Time) string {
	if r.Status == http.StatusRequestEntityTooLarge {
		return TooLarge
	}
	text := strings.ToLower(r.Text)
	for _, w := range words {
		if !strings.Contains(text, w.text) {
			continue
		}
		if w.text == "out of bounds" && p.EndMs > now.UnixMilli() {
			return Ahead
		}
		return w.reason
	}
	return Other
}

// tooOld reports whether points are refused because of their age. Then all older points are refused too, whatever their
// series.
func (r *Refusal) tooOld(points []Point, now time.Time) bool {
	return r.reason(points[len(points)-1], now) == TooOld
}

// cut returns where to split points, at least one of which is refused. Both parts have at least one point. Points that
// are too old are split between two times, because a receiver refuses everything up to a time. A backlog beyond the
// receiver's window then takes a few requests per time and not per series: TestABacklogBeyondTheWindowIsSentAndCounted
// counts fewer than 300 for 5,000 points. For any other reason the points are halved.
func (r *Refusal) cut(points []Point, now time.Time) int {
	if !r.tooOld(points, now) {
		return len(points) / 2
	}
	first, last := points[0].EndMs, points[len(points)-1].EndMs
	if first == last {
		return 1
	}
	cut := len(points) / 2
	for cut < len(points) && points[cut].EndMs == points[cut-1].EndMs {
		cut++
	}
	if cut < len(points) {
		return cut
	}
	for cut = len(points) / 2; points[cut].EndMs == points[cut-1].EndMs; {
		cut--
	}
	return cut
}

// Unavailable is an answer after which the same request may succeed later. The receiver is busy or failing, or the
// address or the credentials are wrong. An operator can fix that. Meanwhile no slice is lost, because the journal keeps
// them.
type Unavailable struct {
	Status int
	Text   string
	After  time.Duration // 0 if the receiver does not say
}

func (u *Unavailable) Error() string {
	hint := advice[u.Status]
	if u.Status/100 == 2 {
		hint = advice[http.StatusBadRequest]
	}
	return fmt.Sprintf("status %d: %s%s", u.Status, u.Text, hint)
}

// advice says what an operator can do about a status.
var advice = map[int]string{
	http.StatusBadRequest:       "; this answer is not from a receiver: check the store's url, and whether it begins with https",
	http.StatusUnauthorized:     "; authentication failed: check the user, password or token of this store",
	http.StatusForbidden:        "; writing is not permitted: check the user, password or token of this store",
	http.StatusNotFound:         "; check the store's url, and that its database or bucket exists",
	http.StatusMethodNotAllowed: "; check the store's url: it does not accept writes",
}

// RetryAfter returns how long the receiver asks to wait before the next request, or 0 if it does not ask.
func (u *Unavailable) RetryAfter() time.Duration { return u.After }

// Answer turns an HTTP answer into an error: nil for success, a *Refusal if the answer is about the points, and
// otherwise an *Unavailable. The difference matters: points of a Refusal are dropped and counted, while those of an
// Unavailable are sent again until they are accepted.
//
// An answer is about the points only if three conditions hold. Its status is 4xx. An operator cannot fix that status
// (see mendable). Its text is not a page of a server or proxy in between. In doubt it is an *Unavailable, which loses
// nothing. TestWhatAnAnswerMeans lists answers of real receivers.
func Answer(status int, header http.Header, text string, now time.Time) error {
	text = strings.TrimSpace(text)
	switch {
	case status >= 200 && status < 300 && !ofServer(text):
		return nil
	case status >= 400 && status < 500 && !mendable[status] && (status == http.StatusRequestEntityTooLarge ||
		!ofServer(text)):
		return &Refusal{Status: status, Text: text}
	}
	return &Unavailable{Status: status, Text: text, After: retryAfter(header.Get("Retry-After"), now)}
}

// serverWords are phrases of servers and proxies, in lower case, that answer before a receiver has seen the request.
// They are about plain HTTP to a TLS port, or come from pages for people.
var serverWords = []string{"http request to an https server", "plain http request was sent to https port",
	"speaking plain http to an ssl", "<html", "<!doctype"}

// ofServer reports whether an answer's text concerns the server and not the points, whatever its status. A login page
// with status 200 is no acknowledgement.
func ofServer(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(serverWords, func(words string) bool { return strings.Contains(text, words) })
}

// mendable are the 4xx statuses that say nothing about the points.
var mendable = map[int]bool{
	http.StatusUnauthorized: true, http.StatusPaymentRequired: true, http.StatusForbidden: true,
	http.StatusNotFound: true, http.StatusMethodNotAllowed: true, http.StatusProxyAuthRequired: true,
	http.StatusRequestTimeout: true, http.StatusUnsupportedMediaType: true, http.StatusMisdirectedRequest: true,
	http.StatusTooEarly: true, http.StatusTooManyRequests: true,
}

// retryAfter parses seconds or a date (RFC 9110, 10.2.3). It returns 0 for anything else, and for a date that has
// passed.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
