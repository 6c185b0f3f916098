package gridtest

import (
	"math/rand/v2"
	"time"
)

// Question is a PromQL expression with the times at which it is asked for.
type Question struct {
	Expr       string
	Start, End time.Time
	Step       time.Duration // 0: at Start alone
}

// Questions invents n questions of a spec: those that Compare asks for the same seed, for a client that asks over the
// network.
func Questions(seed int64, n int, spec Spec) []Question {
	e := &expressions{Spec: spec, Rand: rand.New(rand.NewPCG(uint64(seed), 3))}
	all := make([]Question, n)
	for i := range all {
		q := e.ask()
		all[i] = Question{Expr: q.expr, Start: q.start, End: q.end, Step: q.step}
	}
	return all
}
