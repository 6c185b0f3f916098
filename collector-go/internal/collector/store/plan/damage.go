package plan

import (
	"fmt"
	"sync"

	"github.com/prometheus/prometheus/util/annotations"
)

// maxDamage limits how many damaged places one answer names. Further ones are only counted.
const maxDamage = 20

type damage struct {
	mu    sync.Mutex
	named annotations.Annotations
	more  int
}

// Damaged records that some data could not be read, although the rest of the query is answered. Prometheus asks for a
// selector's warnings before it decodes the slices, so damage that is found later cannot be reported there.
func (p *Plan) Damaged(err error) {
	if p == nil {
		return
	}
	p.damage.mu.Lock()
	defer p.damage.mu.Unlock()
	if _, known := p.damage.named[err.Error()]; known {
		return
	}
	if len(p.damage.named) >= maxDamage {
		p.damage.more++
		return
	}
	p.damage.named.Add(err)
}

// Warnings returns the recorded damage.
func (p *Plan) Warnings() annotations.Annotations {
	p.damage.mu.Lock()
	defer p.damage.mu.Unlock()
	all := annotations.New().Merge(p.damage.named)
	if p.damage.more > 0 {
		all.Add(fmt.Errorf("%d more damaged blocks; run bullet-metrics fsck to list all", p.damage.more))
	}
	return all
}
