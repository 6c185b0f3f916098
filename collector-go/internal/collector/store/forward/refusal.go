package forward

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Why a point is rejected; the keys of what Append returns. Undefined and what a Protocol names itself come beside
// them.
const (
	TooOld     = "too_old"       // before what the receiver still takes
	Ahead      = "ahead"         // further ahead of the receiver's clock than it takes
	OutOfOrder = "out_of_order"  // a newer point of the series is there, and the receiver takes none out of order
	Duplicate  = "duplicate"     // another value stands at this time already
	Invalid    = "invalid"       // labels, or a histogram, that the receiver does not take
	Limit      = "limit"         // a bound of the receiver, on series or labels
	Conflict   = "type_conflict" // the field is of another type there
	TooLarge   = "too_large"     // one slice alone is more than the receiver takes
	Other      = "other"         // the log has the receiver's words
)

// Refusal is an answer that says: at least one point of this request will never be accepted. The store then narrows the
// request down until it has found the points to blame.
type Refusal struct {
	Status int
	Text   string // the answer's beginning
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused with status %d: %s", r.Status, r.Text) }

// words are what receivers say, in lower case, and what it means. The first that fits counts.
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

// reason returns why a point is refused. Prometheus answers "out of bounds" both for what is too old and for what is
// too far ahead.
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

// tooOld reports that points are refused for their age: then so is whatever is older, of whatever series.
func (r *Refusal) tooOld(points []Point, now time.Time) bool {
	return r.reason(points[len(points)-1], now) == TooOld
}

// cut returns where to split points of which one is refused. Points that are too old are split between two times, since
// a receiver refuses everything up to a time together. A backlog beyond the receiver's window then takes few requests
// for each time and not for each series: TestABacklogBeyondTheWindowIsSentAndCounted counts fewer than 300 for 5,000
// points. For any other reason the points are halved. Both parts have at least one point.
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
// address or the credentials are wrong. An operator can mend that, and no slice is lost meanwhile, because the journal
// keeps them.
type Unavailable struct {
	Status int
	Text   string
	After  time.Duration // 0 where the receiver does not say
}

func (u *Unavailable) Error() string {
	hint := advice[u.Status]
	if u.Status/100 == 2 {
		hint = advice[http.StatusBadRequest]
	}
	return fmt.Sprintf("status %d: %s%s", u.Status, u.Text, hint)
}

// advice is what an operator can do about a status.
var advice = map[int]string{
	http.StatusBadRequest:       "; this is no answer of a receiver: check the store's url, and whether it begins with https",
	http.StatusUnauthorized:     "; the receiver does not know us: check the user, password or token of this store",
	http.StatusForbidden:        "; the receiver lets us not write: check the user, password or token of this store",
	http.StatusNotFound:         "; check the store's url, and that its database or bucket is there",
	http.StatusMethodNotAllowed: "; check the store's url: writing is not enabled there",
}

// RetryAfter is how long the receiver asks to be left alone.
func (u *Unavailable) RetryAfter() time.Duration { return u.After }

// Answer turns an HTTP answer into an error: nil for success, a *Refusal if the answer is about the points, and
// otherwise an *Unavailable. The difference matters: points of a Refusal are dropped and counted, while those of an
// Unavailable are sent again until they are accepted.
//
// An answer is about the points only if its status is 4xx, is none of those that an operator can mend (mendable), and
// its text is not a page of a server or proxy in between. In doubt it is an *Unavailable, which loses nothing.
// TestWhatAnAnswerMeans lists answers of real receivers.
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

// serverWords are what servers and proxies say, in lower case, before a receiver has seen a request: of plain HTTP to a
// port that speaks TLS, or in pages for people.
var serverWords = []string{"http request to an https server", "plain http request was sent to https port",
	"speaking plain http to an ssl", "<html", "<!doctype"}

// ofServer reports whether an answer's text concerns the server and not the points, whatever its status. A login page
// with status 200 is no acknowledgement.
func ofServer(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(serverWords, func(words string) bool { return strings.Contains(text, words) })
}

// mendable are the statuses of 4xx that say nothing about the points.
var mendable = map[int]bool{
	http.StatusUnauthorized: true, http.StatusPaymentRequired: true, http.StatusForbidden: true,
	http.StatusNotFound: true, http.StatusMethodNotAllowed: true, http.StatusProxyAuthRequired: true,
	http.StatusRequestTimeout: true, http.StatusUnsupportedMediaType: true, http.StatusMisdirectedRequest: true,
	http.StatusTooEarly: true, http.StatusTooManyRequests: true,
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3). It is 0 for anything else, and for a date that has passed.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
