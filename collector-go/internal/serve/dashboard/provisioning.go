package dashboard

import (
	"errors"
	"fmt"
	"strings"
)

// SourceUID is the uid under which the provisioned data source is known to Grafana.
const SourceUID = "bullet-metrics"

// Access is how Grafana is let in where it asks. Its files are on Grafana's machine, and are read when Grafana starts.
type Access struct {
	TokenFile         string // of a token that may read; "" for none
	User              string // or a user, with a file that holds the password
	PasswordFile      string
	CAFile            string // of the authority of the server's certificate; "" for the system's
	CertFile, KeyFile string // of Grafana's own certificate; "" for none
}

// Validate returns an error that names what does not fit together.
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

// literal is a text of which Grafana expands nothing: it takes $NAME for a variable of its environment, and $$ for one
// dollar sign.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// yaml is the data source's entry in its file: Grafana puts a file's text where $__file{PATH} stands.
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

// DataSource is the provisioning file of a data source: the collector's API, or a Prometheus that the collector writes
// to, at url. Grafana asks by POST, and takes 10 s for how far apart samples are.
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

// Provider is the provisioning file that has Grafana read the dashboards of a directory, in a folder of their own.
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
