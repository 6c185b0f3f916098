// Package advisory finds what is known against parts of a bill of materials, in a database of vulnerabilities. It knows
// packages by their URL alone, and will never know whether the code that is vulnerable is reached.
package advisory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	maxAnswerBytes = 16 << 20
	maxPages       = 100
	// OSV takes up to 1,000 queries at once.
	maxQueries = 1_000
)

// Database answers OSV's batch queries: https://google.github.io/osv.dev/post-v1-querybatch/.
type Database struct {
	URL    string
	Client *http.Client
}

type query struct {
	Package struct {
		PURL string `json:"purl"`
	} `json:"package"`
	PageToken string `json:"page_token,omitempty"`
}

type answer struct {
	Results []struct {
		Vulns []struct {
			ID string `json:"id"`
		} `json:"vulns"`
		NextPageToken string `json:"next_page_token"`
	} `json:"results"`
}

// Known takes package URLs with versions and returns the identifiers of what is known against each package that
// anything is known against. With an error nothing was proved: the database could not be reached, or answered in
// another way than OSV's.
func (d Database) Known(ctx context.Context, purls []string) (map[string][]string, error) {
	known := map[string][]string{}
	var open []query
	for _, purl := range purls {
		q := query{}
		q.Package.PURL = purl
		open = append(open, q)
	}
	for range maxPages {
		if len(open) == 0 {
			return known, nil
		}
		asked := open[:min(len(open), maxQueries)]
		a, err := d.ask(ctx, asked)
		if err != nil {
			return nil, err
		}
		open = open[len(asked):]
		for i, result := range a.Results {
			for _, v := range result.Vulns {
				known[asked[i].Package.PURL] = append(known[asked[i].Package.PURL], v.ID)
			}
			if result.NextPageToken != "" {
				next := asked[i]
				next.PageToken = result.NextPageToken
				open = append(open, next)
			}
		}
	}
	return nil, errors.New("its answers have no end")
}

func (d Database) ask(ctx context.Context, queries []query) (answer, error) {
	body, err := json.Marshal(map[string]any{"queries": queries})
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL+"/v1/querybatch", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := d.Client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("it answered %s", response.Status)
	}
	var a answer
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswerBytes)).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if len(a.Results) != len(queries) {
		return answer{}, fmt.Errorf("it answered %d of %d queries", len(a.Results), len(queries))
	}
	return a, nil
}
