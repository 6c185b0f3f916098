package doctor

import (
	"fmt"
	"net"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// arrives reports whether batches of the topology arrive. That outweighs any doubts about the connection.
func (f Facts) arrives() bool { return f.topology() != nil && f.topology().Alive }

// addresses checks what listens at the plugin's addresses. The plugin tries several addresses in order, so that one
// collector is enough; a different server at any of them is a failure. The most frequent mistake is the port of the
// page instead of the gRPC port. If batches arrive, it does not matter that this machine cannot reach a port.
func addresses(f Facts) Finding {
	if !f.settingsRead() {
		return notChecked(readableSettings)
	}
	if len(f.Ports) == 0 {
		return unknown("not checked")
	}
	var collectors, unreachable, withoutPort []string
	for _, p := range f.Ports {
		switch {
		case p.Invalid != "":
			return fail(fmt.Sprintf("%saddress: %s", plugininfo.Collector, p.Invalid),
				"use HOST:PORT, for example collector.example:"+plugininfo.Port)
		case p.Protocol == PlainHTTP || p.Protocol == TLSHTTP:
			return fail(fmt.Sprintf("%s is an HTTP port (%s), but the plugin needs the gRPC port", p.WithPort, p.Protocol),
				"use the port of the collector's grpc.listen, "+plugininfo.Port+
					" by default; 9320 is the port of the web page")
		case p.Protocol == Other:
			return fail(fmt.Sprintf("the server at %s is not a collector: %s", p.WithPort, p.Problem),
				"use the address of the collector's grpc.listen")
		case p.Protocol == Unreachable:
			unreachable = append(unreachable, p.WithPort+": "+p.Problem)
			if p.Address != p.WithPort {
				withoutPort = append(withoutPort, p.Address)
			}
		default:
			collectors = append(collectors, p.WithPort)
		}
	}
	here, away := strings.Join(collectors, ", "), strings.Join(unreachable, "; ")
	switch {
	case here != "" && away != "":
		return ok(fmt.Sprintf("a collector listens at %s; not reachable: %s", here, away))
	case here != "":
		return ok("a collector listens at " + here)
	case f.arrives():
		return ok("batches arrive, although this machine cannot reach " + away)
	case len(withoutPort) > 0:
		return fail(fmt.Sprintf("this machine cannot reach %s; %s has no port, so the default %s is used", away,
			strings.Join(withoutPort, ", "), plugininfo.Port),
			"use HOST:PORT with the port of the collector's grpc.listen")
	}
	return fail("this machine cannot reach "+away, "start bullet-metrics serve there, or set "+plugininfo.Collector+
		"address to its grpc.listen; if both are correct, check firewalls on the way")
}

// security checks whether plugin and collector agree about TLS, using the settings and the observed handshakes.
// Observations outweigh settings: if batches arrive, both sides agree.
func security(f Facts) Finding {
	if f.topology() != nil && f.Settings == nil {
		return ok("batches arrive, so plugin and collector agree about TLS")
	}
	if !f.settingsRead() {
		return byRefusals(f)
	}
	cert, key := f.plugin("tls.cert.file"), f.plugin("tls.key.file")
	on := truth(f.plugin("tls.enabled"))
	switch {
	case (cert == nil) != (key == nil):
		return fail("only one of tls.cert.file and tls.key.file is set", "set both for mutual TLS, or neither")
	case !on && (cert != nil || f.plugin("tls.ca.file") != nil):
		return fail("tls.*.file is set, but tls.enabled is not true; the plugin rejects these settings, and the topology runs without it",
			"set "+plugininfo.Collector+"tls.enabled: true")
	case f.arrives() && !on:
		return ok("not used, and batches arrive")
	}
	spoken := false
	for _, p := range f.Ports {
		if found, is := spokenAt(p, on, cert != nil); is {
			return found
		}
		spoken = spoken || p.Protocol == PlainGRPC || p.Protocol == TLSGRPC
	}
	switch {
	case spoken && on:
		return ok("used by both sides, and the collector's certificate is trusted")
	case spoken:
		return ok("not used on either side")
	case len(f.Ports) > 0:
		return unknown("skipped, because no collector answers (see address)")
	case on:
		return ok("the plugin uses TLS")
	}
	for _, at := range texts(f.plugin("address")) {
		if !loopback(at) {
			return fail("TLS is off, but "+at+
				" is on another host, where the collector requires TLS (or --grpc-insecure)",
				"set "+plugininfo.Collector+"tls.enabled: true and tls.ca.file (docs/security.md)")
		}
	}
	return ok("not used, and the collector is on the same host as the workers")
}

// spokenAt checks the handshake with one port. is reports whether there is a problem. on is whether the plugin uses
// TLS, and ofOwn is whether it has a client certificate.
func spokenAt(p Port, on, ofOwn bool) (found Finding, is bool) {
	switch {
	case on && (p.Protocol == PlainGRPC || p.Protocol == PlainHTTP):
		return fail(fmt.Sprintf("only the plugin uses TLS: %s answers without TLS", p.WithPort),
			"enable TLS in the collector (grpc.tls.cert_file, grpc.tls.key_file), or set "+plugininfo.Collector+
				"tls.enabled: false"), true
	case !on && (p.Protocol == TLSGRPC || p.Protocol == TLSHTTP):
		return fail(fmt.Sprintf("only the collector uses TLS: %s requires TLS, but the plugin does not use it", p.WithPort),
			"set "+plugininfo.Collector+"tls.enabled: true and tls.ca.file (the CA of the collector's certificate)"), true
	case on && p.Untrusted != "":
		return fail(fmt.Sprintf("the plugin does not trust the certificate of %s: %s", p.WithPort, p.Untrusted), "set "+
			plugininfo.Collector+"tls.ca.file to the CA of the certificate; it must be issued for the host of the address"), true
	case on && p.WantsCertificate && !ofOwn:
		return fail(p.WithPort+" requires a client certificate, but the plugin has none", "set "+plugininfo.Collector+
			"tls.cert.file and tls.key.file"), true
	}
	return Finding{}, false
}

// permission checks whether a collector refuses the plugin's token or certificate, or that it has none.
func permission(f Facts) Finding {
	if !f.settingsRead() {
		return notChecked(readableSettings)
	}
	asked := false
	for _, p := range f.Ports {
		if p.Refused != "" {
			return fail(fmt.Sprintf("the collector at %s refuses the plugin: %s", p.WithPort, p.Refused),
				"give the plugin a token ("+plugininfo.Collector+
					"token.file) or a certificate that may write: docs/security/set-up.md")
		}
		asked = asked || p.Protocol == PlainGRPC || p.Protocol == TLSGRPC
	}
	if !asked {
		return unknown("skipped, because no collector answers (see address)")
	}
	return ok("no collector refuses the plugin's token or certificate")
}

// byRefusals uses the collector's refused connections if the plugin's settings are unknown. It detects the most
// frequent mistake, which is TLS at the collector only. Other mistakes leave no trace at the collector.
func byRefusals(f Facts) Finding {
	if f.Collector != nil && f.Collector.Refused["tls_plain_text"] > 0 {
		return fail(fmt.Sprintf("only the collector uses TLS: it refused %d connections without TLS within %s",
			f.Collector.Refused["tls_plain_text"], Lookback),
			"set "+plugininfo.Collector+"tls.enabled: true and tls.ca.file, and submit the topology again")
	}
	return notChecked(readableSettings)
}

// loopback reports whether an address is a loopback address, for which the collector needs no TLS.
func loopback(at string) bool {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		host = at
	}
	return address.IsLoopback(host)
}
