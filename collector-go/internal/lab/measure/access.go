package measure

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"

// CollectorAccess holds the credentials and TLS settings with which a client connects to a collector.
type CollectorAccess = client.Access
