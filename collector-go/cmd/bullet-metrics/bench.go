package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newBenchCommand() *cobra.Command {
	return group("bench", "Measure the throughput of a collector on this machine, and its limit",
		`Measure the throughput of a collector: rows, small senders, queries.

Without --grpc, the command starts a local collector on loopback, in an empty directory that is removed afterwards.
It counts and adds up what it wrote through queries. A difference is an error.`,
		newBenchIngestCommand(), newBenchSendersCommand(), newBenchQueryCommand())
}

// measuring are the flags of what measures a collector.
type measuring struct {
	bench.Ingest
	collectorFlags
	grpc string
	tls  bool
	dir  string
	outputForm
}

func (m *measuring) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.grpc, "grpc", "",
		"gRPC address of a running collector, HOST:PORT (default a new local collector)")
	m.collectorFlags.addFlags(flags, "",
		"HTTP address of that collector, HOST:PORT or URL (default the host of --grpc, port 9320)")
	flags.Lookup("token-file").Usage = "file with a token that has the scopes read and write"
	flags.BoolVar(&m.tls, "tls", false, "use TLS to connect to --grpc")
	flags.Var(textfile.PathFlag(&m.dir, ""), "dir",
		"directory for the data of a local collector, which are removed afterwards (default the system's directory for temporary files)")
	flags.Uint64Var(&m.Seed, "seed", 1, "seed of the generated rows; the same seed gives the same rows")
	m.outputForm.addFlag(flags)
}

func (m *measuring) validate() error {
	if m.grpc == "" && (m.collector != "" || m.tls || m.access != client.Access{}) {
		return errors.New("--collector, --tls... and --token-file require --grpc")
	}
	return nil
}

// remote is the collector that was named; nil for none.
func (m *measuring) remote() (*bench.Remote, error) {
	if m.grpc == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(m.grpc)
	if err != nil {
		return nil, err
	}
	m.collector = cmp.Or(m.collector, net.JoinHostPort(host, "9320"))
	base, caller, err := m.access.Client(m.collector)
	if err != nil {
		return nil, usageError{err}
	}
	target := bench.Target{Address: m.grpc, TLS: sender.TLS{Enabled: m.tls, CA: m.access.CA, Cert: m.access.Cert,
		Key: m.access.Key}, TokenFile: m.access.TokenFile}
	return &bench.Remote{Target: target, Server: bench.NewServer(base, caller)}, nil
}

// within runs what needs a directory of its own, and removes that. It sets the directory and the collector to measure,
// and passes a description of the machine and the version.
func (m *measuring) within(work func(bench.Run) error) error {
	proc, err := measure.NewProc()
	if err != nil {
		return err
	}
	if m.Remote, err = m.remote(); err != nil {
		return err
	}
	if m.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	if m.Dir, err = os.MkdirTemp(m.dir, "bullet-metrics-bench-"); err != nil {
		return err
	}
	err = work(bench.Run{Machine: proc.Describe(), Version: version, Target: m.grpc})
	return errors.Join(err, os.RemoveAll(m.Dir))
}

// command checks the flags, measures, and prints the result. If the user interrupts the measurement, it returns
// interrupted.
func (m *measuring) command(cmd *cobra.Command, wrong error,
	measure func(context.Context, *terminal, bench.Run) (result any, text string, err error)) error {
	if err := errors.Join(m.validate(), wrong); err != nil {
		return usageError{err}
	}
	var result any
	var text string
	err := m.within(func(run bench.Run) (err error) {
		result, text, err = measure(cmd.Context(), newTerminal("bench", os.Stderr), run)
		return err
	})
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return interrupted{}
	case err != nil && result == nil:
		return err
	}
	return errors.Join(err, m.write(cmd.OutOrStdout(), result, text))
}
