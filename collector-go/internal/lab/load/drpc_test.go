package load

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serialized returns a string as Java's ObjectOutputStream writes it.
func serialized(text string) string {
	head := []byte(javaHeader + "\x74")
	head = binary.BigEndian.AppendUint16(head, uint16(len(text)))
	return base64.StdEncoding.EncodeToString(append(head, text...))
}

func TestDRPC(t *testing.T) {
	const clip = `{"records":[{"probe":"p","probe_sequence":17}],"meta":{}}`
	for name, c := range map[string]struct {
		status       int
		answer, want string
	}{
		"an answer as it is": {200, clip, ""},
		"Bullet's message": {200, `{"id":"q","content":"` + serialized(clip) +
			`","metadata":{"signal":"COMPLETE"}}`, ""},
		"as older Bullets write it": {200,
			`{"id":"q","content":"{\"records\":[{\"probe\":\"p\",\"probe_sequence\":17}],\"meta\":{}}","metadata":{}}`, ""},
		"the topology fails it": {200, `{"id":"q","content":"` +
			serialized(`{"records":[],"meta":{"errors":[{"error":"too fast"}]}}`) + `","metadata":{"signal":"FAIL"}}`,
			"too fast"},
		"the server fails it": {500, "DRPCExecutionException(msg:Request timed out)",
			"500 Internal Server Error: DRPCExecutionException(msg:Request timed out)"},
		"no JSON": {200, "failed", "not JSON"},
		"a Java object of other kind": {200, `{"id":"q","content":"` +
			base64.StdEncoding.EncodeToString([]byte(javaHeader+"\x73")) + `"}`, "not a serialized Java string"},
		"cut": {200, `{"id":"q","content":"` +
			base64.StdEncoding.EncodeToString([]byte(javaHeader+"\x74\x00\x05a")) + `"}`, "has 1 bytes, but its length field says 5"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				assert.Equal(t, "POST /drpc/bullet-query SELECT 1", r.Method+" "+r.URL.Path+" "+string(body))
				w.WriteHeader(c.status)
				io.WriteString(w, c.answer)
			}))
			defer server.Close()
			drpc := NewDRPC(strings.TrimPrefix(server.URL, "http://"), "bullet-query", 1)
			defer drpc.Close()
			answer, err := drpc.Query(t.Context(), "SELECT 1")
			if c.want != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), c.want)
				return
			}
			require.NoError(t, err)
			records, err := rows[Record](answer)
			require.NoError(t, err)
			assert.Equal(t, []Record{{"p", 17}}, records)
		})
	}
}
