package measure

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"

// CollectorAccess is how a collector lets its client in.
type CollectorAccess = client.Access
