// Package webui serves the web page: static files that call the collector's HTTP API. It owns these files and the
// headers with which they are served. The files are embedded and used as they are; there is no build step.
//
// The package must not know how the API computes its answers: the page sees only what any other client of the API can
// see. Start with static/index.html. policy is the content security policy, which forbids inline scripts and every
// other host.
package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var embedded embed.FS

// policy allows the page to load and call only this server. It forbids inline scripts, inline styles and other hosts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds are the content types by file extension. They do not depend on the tables of the host.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// file is one file of the page, in plain and compressed form.
type file struct {
	kind, tag     string
	body, gzipped []byte
}

// pages serves the files, by path.
type pages map[string]file

// Handler serves the page at / and its files below /page/. Browsers revalidate a file at each request, and download it
// only if it has changed.
func Handler() (http.Handler, error) {
	all := pages{}
	err := fs.WalkDir(embedded, "static", func(name string, entry fs.DirEntry, err error) error {
		kind, known := kinds[path.Ext(name)]
		if err != nil || entry.IsDir() || !known {
			return err // licences and notes are not served
		}
		f, err := read(name, kind)
		all["/page"+strings.TrimPrefix(name, "static")] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the page's files: %w", err)
	}
	all["/"] = all["/page/index.html"]
	delete(all, "/page/index.html") // the page has only one address
	return all, nil
}

func read(name, kind string) (f file, err error) {
	if f.body, err = embedded.ReadFile(name); err != nil {
		return f, err
	}
	sum := sha256.Sum256(f.body)
	f.kind, f.tag = kind, `W/"`+hex.EncodeToString(sum[:12])+`"` // weak, because both forms have the same tag
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err = w.Write(f.body); err == nil {
		err = w.Close()
	}
	f.gzipped = small.Bytes()
	return f, err
}

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, found := p[r.URL.Path]
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if !found {
		http.NotFound(w, r)
		return
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.gzipped
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client has disconnected
}
