package dashboard

import (
	"errors"
	"fmt"
	"strings"
)

// SourceUID is the uid of the provisioned data source in Grafana.
const SourceUID = "bullet-metrics"

// Access has the credentials with which Grafana calls the data source. The files are on Grafana's machine, and Grafana
// reads them when it starts.
type Access struct {
	TokenFile         string // file with a token that has the read scope; "" for none
	User              string // alternative to a token; needs PasswordFile
	PasswordFile      string
	CAFile            string // authority of the server's certificate; "" for the system's authorities
	CertFile, KeyFile string // Grafana's client certificate; "" for none
}

// Validate returns an error if options exclude each other or one is missing.
func (a Access) Validate() error {
	switch {
	case a.TokenFile != "" && a.User != "":
		return errors.New("--token-file and --user are both given: give one of them")
	case a.User == "" && a.PasswordFile != "":
		return errors.New("--user is missing: whose password is it in --password-file?")
	case a.User != "" && a.PasswordFile == "":
		return errors.New("--password-file is missing: the file of the password of --user")
	case (a.CertFile == "") != (a.KeyFile == ""):
		return errors.New("--tls-cert and --tls-key belong together: give both or none")
	}
	for _, file := range []struct{ flag, path string }{{"--token-file", a.TokenFile}, {"--password-file", a.PasswordFile},
		{"--tls-ca", a.CAFile}, {"--tls-cert", a.CertFile}, {"--tls-key", a.KeyFile}} {
		if strings.Contains(file.path, "}") || strings.Contains(file.path, "$$") {
			return fmt.Errorf("%s %q: Grafana cannot read a file with } or $$ in its path; name it otherwise", file.flag,
				file.path)
		}
	}
	return nil
}

// literal escapes a text for Grafana, which would replace $NAME by a variable of its environment. $$ stands for one
// dollar sign.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// yaml returns the part of the provisioning file with the credentials. Grafana replaces $__file{PATH} by the contents
// of the file.
func (a Access) yaml() string {
	var top, plain, secret strings.Builder
	file := func(key, prefix, path string) {
		fmt.Fprintf(&secret, "      %s: %q\n", key, prefix+"$__file{"+path+"}")
	}
	if a.User != "" {
		fmt.Fprintf(&top, "    basicAuth: true\n    basicAuthUser: %q\n", literal(a.User))
		file("basicAuthPassword", "", a.PasswordFile)
	}
	if a.TokenFile != "" {
		plain.WriteString("      httpHeaderName1: Authorization\n")
		file("httpHeaderValue1", "Bearer ", a.TokenFile)
	}
	if a.CAFile != "" {
		plain.WriteString("      tlsAuthWithCACert: true\n")
		file("tlsCACert", "", a.CAFile)
	}
	if a.CertFile != "" {
		plain.WriteString("      tlsAuth: true\n")
		file("tlsClientCert", "", a.CertFile)
		file("tlsClientKey", "", a.KeyFile)
	}
	if secret.Len() == 0 {
		return ""
	}
	return plain.String() + "    secureJsonData:\n" + secret.String() + top.String()
}

// DataSource returns the provisioning file of a data source at url. This is the collector's API, or a Prometheus to
// which the collector writes. Grafana uses POST requests and assumes that samples are 10 s apart.
func DataSource(url string, access Access) string {
	return fmt.Sprintf(`# Where the dashboards' figures come from. Written by bullet-metrics grafana export.
apiVersion: 1
datasources:
  - name: Bullet Metrics
    uid: %s
    type: prometheus
    access: proxy
    url: %q
    isDefault: false
    editable: false
    jsonData:
      httpMethod: POST
      timeInterval: 10s # slice.width
      prometheusType: Prometheus
      manageAlerts: true
%s`, SourceUID, literal(url), access.yaml())
}

// Provider returns the provisioning file that makes Grafana load the dashboards of a directory into a folder.
func Provider(dir string) string {
	return fmt.Sprintf(`# Where Grafana finds the dashboards. Written by bullet-metrics grafana export.
apiVersion: 1
providers:
  - name: bullet-metrics
    orgId: 1
    folder: Bullet
    folderUid: bullet-metrics
    type: file
    disableDeletion: false
    allowUiUpdates: false
    updateIntervalSeconds: 60
    options:
      path: %q
      foldersFromFilesStructure: false
`, literal(dir))
}
