package plan

import (
	"fmt"
	"sync"

	"github.com/prometheus/prometheus/util/annotations"
)

// maxDamage is how many damaged places one answer names; more are counted.
const maxDamage = 20

type damage struct {
	mu    sync.Mutex
	named annotations.Annotations
	more  int
}

// Damaged notes what could not be read, though the rest answers. A selector's warnings are asked for before its slices
// are decoded, so damage that shows later has no other way into the answer.
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

// Warnings are what was damaged.
func (p *Plan) Warnings() annotations.Annotations {
	p.damage.mu.Lock()
	defer p.damage.mu.Unlock()
	all := annotations.New().Merge(p.damage.named)
	if p.damage.more > 0 {
		all.Add(fmt.Errorf("%d times more something was damaged; bullet-metrics fsck names all", p.damage.more))
	}
	return all
}
