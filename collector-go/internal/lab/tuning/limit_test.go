package tuning_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// quiet is a step of 30 queries in which nothing is at its limit and everything is known.
func quiet() tuning.Evidence {
	e := tuning.NoEvidence()
	e.Topology = "bullet"
	e.Queries = tuning.QueryEvidence{Endpoint: tuning.EndpointGateway, EndpointCapacity: 2000, Submitted: 30,
		ActiveMean: 29.6, ActiveMost: 30, Created: 90, Returned: 90, Refused: 0}
	e.Bolts = []tuning.BoltEvidence{
		{Component: tuning.FilterBolt, Executors: 2, BusyMean: 0.1, BusyMost: 0.12, QueueMost: 0.01, WorkersCPU: 0.9},
		{Component: "JoinBolt", Executors: 1, BusyMean: 0.02, BusyMost: 0.02, QueueMost: 0, WorkersCPU: 0.5},
	}
	e.GC = tuning.GCEvidence{Worker: "h:6700", ShareOfTime: 0.01, ShareOfCPU: 0.02, HeapUsedMost: 0.4}
	e.Spout = tuning.SpoutEvidence{Component: "DataSource", Executors: 2, MaxPending: 30, BatchSize: 500,
		HeldByPending: 0, HeldByBackPressure: 0, CompleteLatencyMs: 12}
	e.Source = tuning.SourceEvidence{Kind: tuning.SourceKafka, Partitions: 4, RecordsPerSecond: 1000,
		BytesPerSecond: 1.8e6, LagStart: 10, LagEnd: 10, LagGrowth: 0}
	e.Client = tuning.ClientEvidence{LatenessP99Ms: 3, CPUCores: 0.1, CPULimitCores: 2}
	e.Host = tuning.HostEvidence{IdleRatio: 0.4, MinIdleRatio: 0.05, Cores: 2,
		Shares: []tuning.ProcessShare{{Process: "worker 6700", Ratio: 0.45}}}
	e.Collector = tuning.CollectorEvidence{ShareOfHost: 0.02, ExpectedSlices: 12, MissingSlices: 0, LateSamples: 0,
		DroppedSamples: 0}
	e.Workers = tuning.WorkerEvidence{Workers: 2, Restarts: 0, CPUCores: 0.9}
	return e
}

func filterBusy(e *tuning.Evidence, ratio, cores tuning.Figure) {
	e.Bolts[0].BusyMean, e.Bolts[0].BusyMost, e.Bolts[0].WorkersCPU = ratio, ratio, cores
}

// hosts replaces the load client by clients on several hosts.
func hosts(e *tuning.Evidence, all ...tuning.ClientHost) {
	e.Client = tuning.ClientEvidence{LatenessP99Ms: 3, HeldMs: tuning.Unknown, CPUCores: tuning.Unknown,
		CPULimitCores: tuning.Unknown, Hosts: all}
}

func client(host string, lateMs, cores tuning.Figure) tuning.ClientHost {
	return tuning.ClientHost{Host: host, LatenessP99Ms: lateMs, CPUCores: cores, CPULimitCores: 2}
}

func TestTheClientOfEachHostIsJudged(t *testing.T) {
	says := func(all ...tuning.ClientHost) tuning.LimiterFinding {
		e := quiet()
		hosts(&e, all...)
		for _, f := range tuning.Limit(e).Findings {
			if f.Limiter == tuning.LimitedByClient {
				return f
			}
		}
		return tuning.LimiterFinding{}
	}
	f := says(client("a", 3, 0.1), client("b", 99, 0.2))
	assert.Equal(t, tuning.NotReached, f.State)
	assert.Equal(t,
		"the busiest of the load clients on 2 hosts, the one on b, submitted its queries up to 99 ms late (p99) and used 10% of its 2 cores",
		f.Says)
	assert.Equal(t, tuning.Number{Name: "b: lateness, p99", Value: 99, Unit: "ms"}, f.Numbers[3])
	f = says(client("a", 3, 0.1), client("b", tuning.Unknown, tuning.Unknown))
	assert.Equal(t, tuning.NotKnown, f.State)
	assert.Equal(t, "the state of the load client is unknown on b", f.Says)
	f = says(client("a", tuning.Unknown, 0.1), client("b", tuning.Unknown, 1.9))
	assert.Equal(t, tuning.Reached, f.State, "who asked nothing was not late, and may have been busy")
	assert.Equal(t, "the load client on b used 95% of its 2 cores", f.Says)
}

func TestEveryLimiterIsNamedByWhatShowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*tuning.Evidence)
		want     []tuning.Limiter
		says     string
		topology bool
	}{
		"filter CPU": {func(e *tuning.Evidence) { filterBusy(e, 0.98, 2.1) },
			[]tuning.Limiter{tuning.LimitedByFilterCPU},
			"limited by filter CPU: FilterBolt was 98% busy in its busiest executor and 98% on average over 2 executors; its workers used 2.1 cores of the 2 that its executors can use",
			true},
		"one hot filter": {func(e *tuning.Evidence) { filterBusy(e, 0.5, 1.2); e.Bolts[0].BusyMost = 0.97 },
			[]tuning.Limiter{tuning.LimitedByFilterCPU}, "97% busy in its busiest executor and 50% on average over 2 executors", true},
		"another bolt": {func(e *tuning.Evidence) {
			e.Bolts[1].BusyMean, e.Bolts[1].BusyMost, e.Bolts[1].WorkersCPU = 0.95, 0.95, 1.1
		},
			[]tuning.Limiter{tuning.LimitedByBoltCPU}, "JoinBolt was 95% busy", true},
		"a bolt that waits": {func(e *tuning.Evidence) {
			e.Bolts[1] = tuning.BoltEvidence{Component: "ResultBolt", Executors: 2, BusyMean: 0.95, BusyMost: 0.96,
				QueueMost: 0, WorkersCPU: 0.4}
		}, []tuning.Limiter{tuning.LimitedByBoltBusy},
			"limited by a bolt's executors: ResultBolt was 96% busy in its busiest executor and 95% on average over 2 executors; its workers used 0.4 cores of the 2 that its executors can use; that is less than the 1.9 cores that the busy time would need, so its executors waited",
			true},
		"a bolt that waits beside others": {func(e *tuning.Evidence) {
			e.Bolts[0].BusyMean, e.Bolts[0].BusyMost, e.Workers.CPUCores = 0.3, 0.3, 1
			e.Bolts[1] = tuning.BoltEvidence{Component: "LoopBolt", Executors: 1, BusyMean: 0.95, BusyMost: 0.95,
				QueueMost: 0, WorkersCPU: 1}
		}, []tuning.Limiter{tuning.LimitedByBoltBusy},
			"the busy time of all bolts would need 1.55 cores, and all workers used 1 cores, so", true},
		"a bolt that computes beside others": {func(e *tuning.Evidence) {
			e.Workers.CPUCores = 1.2
			e.Bolts[1] = tuning.BoltEvidence{Component: "ResultBolt", Executors: 1, BusyMean: 0.95, BusyMost: 0.95,
				QueueMost: 0, WorkersCPU: 1.2}
		}, []tuning.Limiter{tuning.LimitedByBoltCPU}, "ResultBolt was 95% busy", true},
		"GC": {func(e *tuning.Evidence) { e.GC.ShareOfTime, e.GC.ShareOfCPU, e.GC.HeapUsedMost = 0.25, 0.4, 0.97 },
			[]tuning.Limiter{tuning.LimitedByGC},
			"garbage collection pauses took 25% of the time in worker h:6700, 40% of its CPU, with 97% of the heap in use",
			true},
		"a killed worker": {func(e *tuning.Evidence) { e.Workers.Restarts = 1 },
			[]tuning.Limiter{tuning.LimitedByRestart}, "a worker restarted during the step and lost its state",
			true},
		"max spout pending": {func(e *tuning.Evidence) { e.Spout.HeldByPending, e.Source.LagGrowth = 0.6, 200 },
			[]tuning.Limiter{tuning.LimitedByPending},
			"max spout pending throttled the record spouts for 60% of their time at 30 batches of up to 500 = 15,000 records per spout",
			false},
		"Kafka partitions": {func(e *tuning.Evidence) {
			e.Source.LagGrowth, e.Source.Partitions, e.Spout.Executors = 200, 2, 4
		},
			[]tuning.Limiter{tuning.LimitedByPartitions},
			"grows by 200 records/s while 1,000 records/s are read; 4 spouts read 2 partitions", false},
		"too few spouts": {func(e *tuning.Evidence) { e.Source.LagGrowth = 200 },
			[]tuning.Limiter{tuning.LimitedBySpouts}, "2 spouts read 4 partitions, so more spouts would help",
			true},
		"a generator that falls behind": {func(e *tuning.Evidence) {
			e.Source.Kind, e.Source.Partitions, e.Source.LagGrowth = tuning.SourceGenerator, tuning.Unknown, 200
		}, []tuning.Limiter{tuning.LimitedBySpouts}, "the lag of the source grows", true},
		"DRPC": {func(e *tuning.Evidence) {
			e.Queries.Endpoint, e.Queries.EndpointCapacity, e.Queries.ActiveMean,
				e.Queries.ActiveMost = tuning.EndpointDRPC, 20, 20, 20
		}, []tuning.Limiter{tuning.LimitedByDRPC},
			"limited by DRPC: 30 queries submitted, 20 active, 10 never active; DRPC accepts 20 at the same time; the topology was not the limit: FilterBolt was 12% busy in its busiest executor and 10% on average over 2 executors; its workers used 0.9 cores of the 2 that its executors can use",
			false},
		"DRPC whose threads nobody stated": {func(e *tuning.Evidence) {
			e.Queries.Endpoint, e.Queries.EndpointCapacity, e.Queries.ActiveMost = tuning.EndpointDRPC,
				tuning.Unknown, 20
		}, []tuning.Limiter{tuning.LimitedByDRPC}, "limited by DRPC: 30 queries submitted, 20 active, 10 never active;",
			false},
		"a gateway that refuses": {func(e *tuning.Evidence) { e.Queries.Refused = 7 },
			[]tuning.Limiter{tuning.LimitedByEndpoint}, "the query endpoint refused 7 queries", false},
		"a late client": {func(e *tuning.Evidence) { e.Client.LatenessP99Ms = 1500 },
			[]tuning.Limiter{tuning.LimitedByClient}, "submitted its queries up to 1,500 ms late (p99)", false},
		"a client late with queries that it holds for long": {func(e *tuning.Evidence) {
			e.Client.LatenessP99Ms, e.Client.HeldMs = 499, 10_000
		},
			[]tuning.Limiter{}, "nothing was at its limit", false},
		"a client later than a twentieth of what it holds": {func(e *tuning.Evidence) {
			e.Client.LatenessP99Ms, e.Client.HeldMs = 501, 10_000
		},
			[]tuning.Limiter{tuning.LimitedByClient}, "submitted its queries up to 501 ms late (p99)", false},
		"a client without a processor": {func(e *tuning.Evidence) { e.Client.CPUCores = 1.95 },
			[]tuning.Limiter{tuning.LimitedByClient}, "used 97.5% of its 2 cores", false},
		"a late client of three": {func(e *tuning.Evidence) {
			hosts(e, client("a", 3, 0.1), client("b", 812, 0.2), client("c", 5, 0.1))
		}, []tuning.Limiter{tuning.LimitedByClient},
			"limited by the load client: the load client on b submitted its queries up to 812 ms late (p99) and used 10% of its 2 cores",
			false},
		"clients of three at two limits": {func(e *tuning.Evidence) {
			hosts(e, client("a", 101, 0.1), client("b", 3, 0.2), client("c", 5, 1.9))
		}, []tuning.Limiter{tuning.LimitedByClient},
			"the load client on a submitted its queries up to 101 ms late (p99) and used 5% of its 2 cores; the load client on c submitted its queries up to 5 ms late (p99) and used 95% of its 2 cores",
			false},
		"of three clients none is late, though all together are": {func(e *tuning.Evidence) {
			hosts(e, client("a", 99, 0.1), client("b", 3, 0.2), client("c", 5, 0.1))
			e.Client.LatenessP99Ms = 1500
		}, []tuning.Limiter{}, "nothing was at its limit", false},
		"the host": {func(e *tuning.Evidence) { e.Host.IdleRatio = 0.01 },
			[]tuning.Limiter{tuning.LimitedByHost},
			"1% of the host was idle; worker 6700 used 45% of it, and there is no earlier step to compare with", false},
		"the host, by who came": {func(e *tuning.Evidence) {
			e.Host.IdleRatio = 0.01
			e.Host.SharesBefore = []tuning.ProcessShare{{Process: "worker 6700", Ratio: 0.44},
				{Process: "everything else on the host", Ratio: 0.05}, {Process: "gone", Ratio: 0.1}}
			e.Host.Shares = append(e.Host.Shares, tuning.ProcessShare{Process: "everything else on the host",
				Ratio: 0.38})
		}, []tuning.Limiter{tuning.LimitedByHost},
			"1% of the host was idle; the share of everything else on the host rose from 5% to 38%", false},
		"the host, by nobody who is known": {func(e *tuning.Evidence) {
			e.Host.IdleRatio = 0.01
			e.Host.SharesBefore = []tuning.ProcessShare{{Process: "worker 6700", Ratio: 0.44}}
		}, []tuning.Limiter{tuning.LimitedByHost},
			"1% of the host was idle; no process used over 2 percentage points more than before", false},
		"a worker that fell silent": {func(e *tuning.Evidence) { e.Workers.Expected, e.Workers.Silent = 2, 1 },
			[]tuning.Limiter{tuning.LimitedBySilence},
			"1 of 2 workers sent no more samples by the end of the step: it is unknown whether it ended or its samples were lost",
			false},
		"the collector's hunger": {func(e *tuning.Evidence) { e.Host.IdleRatio, e.Collector.ShareOfHost = 0.01, 0.3 },
			[]tuning.Limiter{tuning.LimitedByHost, tuning.LimitedByCollector}, "the collector used 30% of the host",
			false},
		"the collector's holes": {func(e *tuning.Evidence) { e.Collector.MissingSlices = 6 },
			[]tuning.Limiter{tuning.LimitedByCollector}, "missed 6 of 12 slices", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := quiet()
			c.change(&e)
			l := tuning.Limit(e)
			assert.Equal(t, c.want, l.Limiters, l.Text)
			assert.Contains(t, l.Text, c.says)
			assert.Equal(t, c.topology, l.BlamesTopology())
			assert.Empty(t, l.Missing)
			assert.Empty(t, l.Contradictions)
		})
	}
}

func TestTwoLimitsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tuning.Evidence)
		want   []tuning.Limiter
		follow []tuning.Limiter
	}{
		"filter and GC": {func(e *tuning.Evidence) { filterBusy(e, 0.97, 2); e.GC.ShareOfTime = 0.2 },
			[]tuning.Limiter{tuning.LimitedByFilterCPU, tuning.LimitedByGC}, nil},
		"DRPC and filter": {func(e *tuning.Evidence) {
			filterBusy(e, 0.97, 2)
			e.Queries.Endpoint, e.Queries.EndpointCapacity, e.Queries.ActiveMost = tuning.EndpointDRPC, 20, 20
		}, []tuning.Limiter{tuning.LimitedByFilterCPU, tuning.LimitedByDRPC}, nil},
		"spouts wait for the filter": {func(e *tuning.Evidence) {
			filterBusy(e, 0.97, 2)
			e.Spout.HeldByPending, e.Source.LagGrowth = 0.7, 300
		}, []tuning.Limiter{tuning.LimitedByFilterCPU},
			[]tuning.Limiter{tuning.LimitedByPending, tuning.LimitedBySpouts}},
		"the filter waits for the host": {func(e *tuning.Evidence) {
			filterBusy(e, 0.97, 0.8)
			e.Host.IdleRatio = 0.01
		},
			[]tuning.Limiter{tuning.LimitedByHost}, nil},
		"the filter itself fills the host": {func(e *tuning.Evidence) {
			filterBusy(e, 0.97, 1.9)
			e.Host.IdleRatio = 0.01
		},
			[]tuning.Limiter{tuning.LimitedByFilterCPU, tuning.LimitedByHost}, nil},
		"the client waits for the host": {func(e *tuning.Evidence) {
			e.Client.LatenessP99Ms, e.Host.IdleRatio = 900, 0.01
		},
			[]tuning.Limiter{tuning.LimitedByHost}, []tuning.Limiter{tuning.LimitedByClient}},
	} {
		t.Run(name, func(t *testing.T) {
			e := quiet()
			c.change(&e)
			l := tuning.Limit(e)
			assert.Equal(t, c.want, l.Limiters, l.Text)
			var follow []tuning.Limiter
			for _, f := range l.Findings {
				if f.State == tuning.Consequence {
					follow = append(follow, f.Limiter)
				}
			}
			assert.Equal(t, c.follow, follow)
		})
	}
}

func TestWhatIsNotKnown(t *testing.T) {
	t.Run("nothing known", func(t *testing.T) {
		l := tuning.Limit(tuning.NoEvidence())
		assert.False(t, l.Known())
		assert.Len(t, l.Missing, 10, "one a rule")
		assert.Contains(t, l.Text, "cannot tell: the busy share of FilterBolt is unknown")
	})
	t.Run("nothing at its limit", func(t *testing.T) {
		l := tuning.Limit(quiet())
		assert.False(t, l.Known())
		assert.Contains(t, l.Text, "nothing was at its limit")
	})
	t.Run("never active, yet the endpoint has room", func(t *testing.T) {
		e := quiet()
		e.Queries.ActiveMost = 20
		l := tuning.Limit(e)
		assert.False(t, l.Known(), "the topology may as well not take them")
		assert.Contains(t, l.Text, "10 of 30 queries were never active, although the endpoint accepts 2,000")
	})
	t.Run("behind for no reason", func(t *testing.T) {
		e := quiet()
		e.Source.LagGrowth, e.Source.Partitions = 100, tuning.Unknown
		l := tuning.Limit(e)
		assert.False(t, l.Known())
		assert.Contains(t, l.Text, "the number of Kafka partitions is unknown")
	})
	t.Run("no query requested", func(t *testing.T) {
		e := quiet()
		e.Queries.Submitted, e.Queries.ActiveMost = 0, 0
		assert.False(t, tuning.Limit(e).Known())
	})
}

// On a shared cluster the observed host is that of tune run. It limits nothing, and a busy filter without its workers'
// CPU is not proven to be the limit.
func TestTheLoadClientsHostLimitsNothing(t *testing.T) {
	e := quiet()
	e.Host.IdleRatio, e.Host.OfRun, e.Collector.ShareOfHost = 0.01, true, 0.3
	l := tuning.Limit(e)
	assert.Empty(t, l.Limiters)
	assert.Equal(t, "cannot tell: worker hosts: not measured (1% of tune run's host was idle)", l.Text)
	filterBusy(&e, 0.97, 0.8)
	l = tuning.Limit(e)
	assert.Empty(t, l.Limiters)
	assert.Contains(t, l.Text, "They waited for CPU, or Storm's figures are from another time")
	filterBusy(&e, 0.97, 1.9)
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByFilterCPU}, tuning.Limit(e).Limiters)
}

func figures() stepFigures {
	return stepFigures{Queries: 30, FilterLatencyMeanMs: 5, AverageResultSize: 10, Returned: 90, HostIdle: 0.4}
}

func TestVerdictsInTheLightOfTheLimit(t *testing.T) {
	drpc := func(e *tuning.Evidence) {
		e.Queries.Endpoint, e.Queries.EndpointCapacity, e.Queries.ActiveMost = tuning.EndpointDRPC, 20, 20
	}
	for name, c := range map[string]struct {
		evidence func(*tuning.Evidence)
		figures  func(*stepFigures)
		want     tuning.Verdict
		reason   string
	}{
		"all well": {func(*tuning.Evidence) {}, func(*stepFigures) {}, tuning.OK, ""},
		"capped by DRPC, goals met": {drpc, func(*stepFigures) {}, tuning.Limited,
			"limited by DRPC: 30 queries submitted, 20 active, 10 never active"},
		"capped by DRPC, queries fail": {drpc, func(f *stepFigures) { f.Failed = 10 }, tuning.Limited,
			"limited by DRPC"},
		"slow filter": {func(e *tuning.Evidence) { filterBusy(e, 0.98, 2) },
			func(f *stepFigures) { f.FilterLatencyMeanMs = 900 }, tuning.Fail, "limited by filter CPU"},
		"busy filter that holds": {func(e *tuning.Evidence) { filterBusy(e, 0.98, 2) }, func(*stepFigures) {},
			tuning.OK, ""},
		"slow on a starved host": {func(e *tuning.Evidence) { e.Host.IdleRatio = tuning.Unknown },
			func(f *stepFigures) { f.FilterLatencyMeanMs, f.HostIdle = 900, 0.01 }, tuning.Inconclusive,
			"of the host was idle"},
		"slow, and the host full of filters": {func(e *tuning.Evidence) {
			filterBusy(e, 0.98, 1.9)
			e.Host.IdleRatio = 0.01
		},
			func(f *stepFigures) { f.FilterLatencyMeanMs, f.HostIdle = 900, 0.01 }, tuning.Fail,
			"limited by filter CPU and the host"},
		"slow, with holes in what was collected": {func(e *tuning.Evidence) { e.Collector.MissingSlices = 6 },
			func(f *stepFigures) { f.FilterLatencyMeanMs = 900 }, tuning.Inconclusive, "limited by the collector"},
		"slow, and tune run's host starved": {func(e *tuning.Evidence) {
			filterBusy(e, 0.98, 2)
			e.Host.IdleRatio, e.Host.OfRun = 0.01, true
		},
			func(f *stepFigures) { f.FilterLatencyMeanMs, f.HostIdle = 900, 0.01 }, tuning.Fail,
			"limited by filter CPU"},
		"well, and nothing known of any host": {func(e *tuning.Evidence) {
			e.Host.IdleRatio, e.Host.OfRun = tuning.Unknown, true
		},
			func(f *stepFigures) { f.HostIdle = math.NaN() }, tuning.OK, ""},
		"slow for no reason": {func(*tuning.Evidence) {}, func(f *stepFigures) { f.FilterLatencyMeanMs = 900 },
			tuning.Fail, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, f := quiet(), figures()
			c.evidence(&e)
			c.figures(&f)
			j, l := f.judge(e)
			assert.Equal(t, c.want, j.Verdict, "%v", j.Reasons)
			if c.reason != "" {
				require.NotEmpty(t, j.Reasons)
				assert.Contains(t, j.Reasons[0]+j.Reasons[len(j.Reasons)-1], c.reason)
			}
			if name == "slow for no reason" {
				assert.Contains(t, l.Text, "cannot tell: a goal was missed")
			}
		})
	}
}

func TestEvidenceSurvivesItsFile(t *testing.T) {
	e := quiet()
	e.Source.Partitions = tuning.Unknown
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var back tuning.Evidence
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, tuning.Limit(e).Text, tuning.Limit(back).Text)
	assert.False(t, back.Source.Partitions.Known())
	var empty tuning.Evidence
	require.NoError(t, json.Unmarshal([]byte(`{"bolts":[{"component":"FilterBolt"}]}`), &empty))
	assert.False(t, empty.Queries.Submitted.Known(), "what is not there is unknown, not 0")
	assert.False(t, empty.Bolts[0].BusyMost.Known())
}
