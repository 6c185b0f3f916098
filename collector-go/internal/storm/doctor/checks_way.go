package doctor

import (
	"fmt"
	"net"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// arrives reports whether batches of the topology arrive. That outweighs any doubts about the connection.
func (f Facts) arrives() bool { return f.topology() != nil && f.topology().Alive }

// address checks what listens at the plugin's addresses. The plugin tries several addresses in order, so that one
// collector is enough; a different server at any of them is a failure. The most frequent mistake is the port of the
// page instead of the gRPC port. If batches arrive, it does not matter that this machine cannot reach a port.
func address(f Facts) Finding {
	if f.Settings == nil || f.Settings.Err != nil {
		return unknown("not looked at: no settings that can be read")
	}
	if len(f.Ports) == 0 {
		return unknown("not looked at")
	}
	var well, nobody, missing []string
	for _, p := range f.Ports {
		switch {
		case p.Invalid != "":
			return fail(fmt.Sprintf("%saddress: %s", plugininfo.Collector, p.Invalid),
				"write HOST:PORT, such as collector.example:"+plugininfo.Port)
		case p.Speaks == PlainHTTP || p.Speaks == TLSHTTP:
			return fail(fmt.Sprintf("%s is a port that speaks HTTP (%s), and the plugin speaks gRPC",
				p.WithPort, p.Speaks),
				"write the port of the collector's grpc.listen, "+plugininfo.Port+
					" unless it was set; 9320 is that of the page")
		case p.Speaks == Other:
			return fail(fmt.Sprintf("what listens at %s is no collector: %s", p.WithPort, p.Problem),
				"write the address of the collector's grpc.listen")
		case p.Speaks == Nobody:
			nobody = append(nobody, p.WithPort+": "+p.Problem)
			if p.Address != p.WithPort {
				missing = append(missing, p.Address)
			}
		default:
			well = append(well, p.WithPort)
		}
	}
	switch {
	case len(well) > 0 && len(nobody) > 0:
		return ok(fmt.Sprintf("a collector listens at %s; not at %s", strings.Join(well, ", "),
			strings.Join(nobody, "; ")))
	case len(well) > 0:
		return ok("a collector listens at " + strings.Join(well, ", "))
	case f.arrives():
		return ok("batches arrive, though from this machine nobody answers at " + strings.Join(nobody, "; "))
	case len(missing) > 0:
		return fail(fmt.Sprintf("nobody answers at %s, from this machine; %s has no port, and %s is meant without one",
			strings.Join(nobody, "; "), strings.Join(missing, ", "), plugininfo.Port),
			"write HOST:PORT with the port of the collector's grpc.listen")
	}
	return fail("nobody answers at "+strings.Join(nobody, "; ")+", from this machine",
		"start bullet-metrics serve there, or set "+plugininfo.Collector+
			"address to its grpc.listen; then look at what lies between, such as a firewall")
}

// security checks whether plugin and collector agree about TLS, using the settings and the observed handshakes.
// Observations outweigh settings: if batches arrive, both sides agree.
func security(f Facts) Finding {
	if f.topology() != nil && f.Settings == nil {
		return ok("batches arrive, so plugin and collector agree")
	}
	if f.Settings == nil || f.Settings.Err != nil {
		return byRefusals(f)
	}
	cert, key := f.plugin("tls.cert.file"), f.plugin("tls.key.file")
	on := truth(f.plugin("tls.enabled"))
	switch {
	case (cert == nil) != (key == nil):
		return fail("only one of tls.cert.file and tls.key.file is set", "set both for mutual TLS, or neither")
	case !on && (cert != nil || f.plugin("tls.ca.file") != nil):
		return fail("tls.*.file is set, and tls.enabled is not true: the plugin refuses such settings, and the topology runs without it",
			"set "+plugininfo.Collector+"tls.enabled: true")
	case f.arrives() && !on:
		return ok("none, and batches arrive")
	}
	spoken := false
	for _, p := range f.Ports {
		if found, is := spokenAt(p, on, cert != nil); is {
			return found
		}
		spoken = spoken || p.Speaks == PlainGRPC || p.Speaks == TLSGRPC
	}
	switch {
	case spoken && on:
		return ok("both speak TLS: the certificate that was shown leads to the settings' authority")
	case spoken:
		return ok("none on either side")
	case len(f.Ports) > 0:
		return unknown("not made, since nothing that takes samples answers (see address)")
	case on:
		return ok("the plugin speaks TLS")
	}
	for _, address := range texts(f.plugin("address")) {
		if !loopback(address) {
			return fail("no TLS, and "+address+
				" is another machine: the collector listens there only with TLS, or with --grpc-insecure",
				"set "+plugininfo.Collector+"tls.enabled: true and tls.ca.file (docs/security.md)")
		}
	}
	return ok("none, and the collector is on the workers' own machine")
}

// spokenAt checks the handshake with one port. is reports whether there is a problem. on is whether the plugin uses
// TLS, and ofOwn is whether it has a client certificate.
func spokenAt(p Port, on, ofOwn bool) (found Finding, is bool) {
	switch {
	case on && (p.Speaks == PlainGRPC || p.Speaks == PlainHTTP):
		return fail(fmt.Sprintf("TLS at the plugin only: %s answers a handshake in plain text", p.WithPort),
			"give the collector TLS (grpc.tls.cert_file, grpc.tls.key_file), or set "+plugininfo.Collector+
				"tls.enabled: false"), true
	case !on && (p.Speaks == TLSGRPC || p.Speaks == TLSHTTP):
		return fail(fmt.Sprintf("TLS at the collector only: %s takes nothing else, and the plugin speaks plain text",
				p.WithPort),
				"set "+plugininfo.Collector+
					"tls.enabled: true and tls.ca.file, the authority of the collector's certificate"),
			true
	case on && p.Untrusted != "":
		return fail(fmt.Sprintf("the plugin will not trust %s: %s", p.WithPort, p.Untrusted),
				"set "+plugininfo.Collector+
					"tls.ca.file to the authority of the collector's certificate, which must name the host that the address has"),
			true
	case on && p.WantsCertificate && !ofOwn:
		return fail(p.WithPort+" asks for a client's certificate, and the plugin has none", "set "+plugininfo.Collector+
			"tls.cert.file and tls.key.file"), true
	}
	return Finding{}, false
}

// byRefusals uses the collector's refused connections if the plugin's settings are unknown. It detects the most
// frequent mistake, which is TLS at the collector only. Other mistakes leave no trace at the collector.
func byRefusals(f Facts) Finding {
	if f.Collector != nil && f.Collector.Refused["tls_plain_text"] > 0 {
		return fail(fmt.Sprintf("TLS at the collector only: it turned away %d connections in plain text within %s",
			f.Collector.Refused["tls_plain_text"], Lookback),
			"set "+plugininfo.Collector+"tls.enabled: true and tls.ca.file where the topology is submitted")
	}
	return unknown("not looked at: no settings that can be read")
}

// loopback reports whether an address is a loopback address, for which the collector needs no TLS.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
