package dashboard

import "fmt"

// SourceUID is the uid under which the provisioned data source is known to Grafana.
const SourceUID = "bullet-metrics"

// DataSource is the provisioning file of a data source: the collector's API, or a Prometheus that the collector writes to, at url.
// Grafana asks by POST, and takes 10 s for how far apart samples are.
func DataSource(url string) string {
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
`, SourceUID, url)
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
`, dir)
}
