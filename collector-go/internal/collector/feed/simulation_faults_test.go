package feed

import (
	"math/rand/v2"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// turn makes something happen to the world.
func (w *simulated) turn() {
	p := w.plugins[w.random.IntN(len(w.plugins))]
	switch what := w.random.IntN(25); what {
	case 0, 1, 2:
		w.machineDies()
	case 3, 4:
		w.failCalls()
	case 5:
		w.failSome()
	case 6:
		w.note("full")
		w.happen["fills"]++
		w.disk.Fill()
	case 7:
		w.failReads()
	case 8, 9, 10:
		w.healDisk()
	case 11, 12:
		if w.life != nil {
			w.note("kill")
			w.die(false)
		}
	case 13, 14:
		if w.life != nil {
			w.note("power")
			w.die(true)
		}
	case 15:
		if w.life != nil {
			w.note("stop")
			w.stop()
			w.restartIn(w.downFor())
		}
	case 16:
		p.link.reset()
	case 17:
		p.link.block([2]bool{true, true}, w.upTo(60_000))
	case 18:
		direction := w.random.IntN(2)
		p.link.block([2]bool{direction == up, direction == down}, w.upTo(60_000))
	case 19:
		p.link.flap(2 + w.random.IntN(6))
	case 20:
		w.note("slow")
		p.link.delayMs = 1 + w.upTo(1<<w.upTo(12))
	case 21:
		w.note("worker")
		p.kill()
	case 22, 23:
		w.clocks(p)
	case 24:
		w.hours()
	}
}

// machineDies cuts the power at a later call.
func (w *simulated) machineDies() {
	number := w.counted()
	at := 1 + w.random.IntN(60)
	w.fault(func(_ int, _, name string) error {
		if number(name) >= at {
			return disktest.ErrPowerless
		}
		return nil
	})
}

// failCalls makes the n-th call from here fail, and a few after it.
func (w *simulated) failCalls() {
	number := w.counted()
	from := 1 + w.random.IntN(40)
	to := from + w.random.IntN(4)
	w.fault(func(_ int, _, name string) error {
		if n := number(name); n >= from && n <= to {
			w.happen["disk_errors"]++
			return disktest.ErrInputOutput
		}
		return nil
	})
}

// counted numbers the following calls, either all of the disk or those for the journal's segments.
func (w *simulated) counted() func(name string) int {
	all, n := w.chance(2), 0
	return func(name string) int {
		if all || strings.HasSuffix(name, ".segment") {
			n++
			return n
		}
		return 0
	}
}

// failSome makes some calls fail.
func (w *simulated) failSome() {
	rate, random := 2+w.random.IntN(20), rand.New(rand.NewPCG(w.random.Uint64(), 1))
	w.fault(func(int, string, string) error {
		if random.IntN(rate) == 0 {
			w.happen["disk_errors"]++
			return disktest.ErrInputOutput
		}
		return nil
	})
}

// failReads makes reads of the journal fail sometimes.
func (w *simulated) failReads() {
	random := rand.New(rand.NewPCG(w.random.Uint64(), 1))
	w.faulty = true
	w.disk.SetReadFault(func(name string, _, _ int64) error {
		if strings.HasSuffix(name, ".segment") && random.IntN(200) == 0 {
			w.happen["read_errors"]++
			return disktest.ErrInputOutput
		}
		return nil
	})
}

func (w *simulated) fault(f func(call int, op, name string) error) {
	w.faulty = true
	w.disk.SetFault(f)
}

func (w *simulated) healDisk() {
	w.faulty = false
	w.disk.SetFault(nil)
	w.disk.SetReadFault(nil)
	w.disk.SetRoom(0)
}

// clocks makes a clock step. The collector's clock steps by minutes, because in a simulation ingest has no monotonic
// clock and would refuse everything that is further ahead. A plugin's clock steps by up to half a day, or back to the
// right time.
func (w *simulated) clocks(p *plugin) {
	w.note("clock")
	w.happen["clock_steps"]++
	if w.chance(3) || w.strict {
		w.offMs = w.upTo(600_000) - 300_000
		return
	}
	p.clockMs = 0
	if !w.chance(4) {
		p.clockMs = w.upTo(1 << (10 + w.upTo(16)))
		if w.chance(2) {
			p.clockMs *= -1
		}
	}
}

// hours lets hours pass, either quiet ones or ones in which the whole world stands still.
func (w *simulated) hours() {
	if w.chance(2) {
		w.note("still")
		w.happen["leaps"]++
		w.nowMs += (w.upTo(20) + 10*w.upTo(2)) * 3_600_000
		return
	}
	w.note("calm")
	w.happen["calm_hours"]++
	w.quiet = true
	w.run(w.upTo(2 * 3_600_000))
	w.quiet = false
}

// heal ends all faults. What is unavailable returns by itself.
func (w *simulated) heal() {
	w.note("heal")
	w.healed = true
	w.healDisk()
	for _, p := range w.plugins {
		p.link.blocked, p.link.delayMs = [2]bool{}, 5
		p.link.open()
		p.clockMs = 0
	}
	for _, r := range w.receivers {
		r.backMs = 0
	}
	w.offMs = 0
	if w.life == nil {
		w.start()
	}
}
