package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newBenchCommand() *cobra.Command {
	return group("bench", "Measure what a collector takes on this machine, and when it is full",
		`Measure what a collector takes: rows, small senders, queries. Without --target the program starts a collector of its own, on loopback in an
empty directory that is removed afterwards. What was written is counted and added up through queries; a difference is an error.`,
		newBenchIngestCommand(), newBenchSendersCommand(), newBenchQueryCommand())
}

// measuring are the flags of what measures a collector.
type measuring struct {
	asking
	target string
	tls    bool
	dir    string
	outputForm
}

func (m *measuring) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.target, "target", "",
		"gRPC address of a collector that runs, HOST:PORT (default a collector of its own)")
	m.asking.addFlags(flags, "",
		"address of the target's HTTP, host:port or a URL (default the target's host, port 9320); a token must also be one that may read")
	flags.BoolVar(&m.tls, "tls", false, "speak TLS with the target's gRPC")
	flags.Var(textfile.PathFlag(&m.dir, ""), "dir",
		"directory in which an own collector keeps its data; what it puts there is removed (default the system's for temporary files)")
	m.outputForm.addFlag(flags)
}

func (m *measuring) validate() error {
	if m.target == "" && (m.collector != "" || m.tls || m.access != client.Access{}) {
		return errors.New("--collector, --tls... and --token-file are for a --target")
	}
	if m.target != "" {
		if err := address.HostPort(m.target).Server("127.0.0.1:4320"); err != nil {
			return fmt.Errorf("--target %w", err)
		}
	}
	return m.check()
}

// remote is the collector that was named; nil for none.
func (m *measuring) remote() (*bench.Remote, error) {
	if m.target == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(m.target)
	if err != nil {
		return nil, err
	}
	if m.collector == "" {
		m.collector = net.JoinHostPort(host, "9320")
	}
	base, caller, err := m.access.Client(m.collector)
	if err != nil {
		return nil, usageError{err}
	}
	protected := sender.TLS{Enabled: m.tls}
	if m.tls {
		protected.CA, protected.Cert, protected.Key = m.access.CA, m.access.Cert, m.access.Key
	}
	ip := net.ParseIP(host)
	target := bench.Target{Address: m.target, Loopback: host == "localhost" || ip.To4() != nil && ip.IsLoopback(),
		TLS: protected, TokenFile: m.access.TokenFile}
	return &bench.Remote{Target: target, Server: bench.NewServer(base, caller)}, nil
}

// within runs what needs a directory of its own, and removes that. It sets in o the directory and the collector to
// measure.
func (m *measuring) within(o *bench.Ingest, measure func() error) (err error) {
	if o.Remote, err = m.remote(); err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	if o.Dir, err = os.MkdirTemp(m.dir, "bullet-metrics-bench-"); err != nil {
		return err
	}
	return errors.Join(measure(), os.RemoveAll(o.Dir))
}

// describe is what surrounds a measurement on this machine.
func (m *measuring) describe() (bench.Run, error) {
	proc, err := measure.NewProc()
	if err != nil {
		return bench.Run{}, err
	}
	return bench.Run{Machine: proc.Describe(), Version: version, Target: m.target}, nil
}

// command checks the flags, measures, and prints the result. Where somebody interrupted a measurement, that is how the
// command ends.
func (m *measuring) command(cmd *cobra.Command, wrong error,
	measure func(context.Context, *terminal) (result any, text string, err error)) error {
	if err := errors.Join(m.validate(), wrong); err != nil {
		return usageError{err}
	}
	result, text, err := measure(cmd.Context(), newTerminal("bench", os.Stderr))
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return interrupted{}
	case err != nil && result == nil:
		return err
	}
	return errors.Join(err, m.write(cmd.OutOrStdout(), result, text))
}
