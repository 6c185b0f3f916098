//go:build e2e

package e2e

import "net/http"

// isReady asks a collector whether it is ready.
func isReady(address string) bool {
	response, err := http.Get("http://" + address + "/-/ready")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
