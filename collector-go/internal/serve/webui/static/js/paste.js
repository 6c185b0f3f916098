// The settings to paste into a topology, which the page shows before a topology has reported.
const everywhere = ['', '0.0.0.0', '[::]'];
/** loopback matches the host names of this machine. */
export const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const collector = 'bullet.topology.metrics.collector.';

/**
 * pasteFor returns the snippet for a collector with these settings, and a note on its address and files. If the
 * collector listens on every interface, the snippet has the name in the page's address, or the name of the collector's
 * machine if the page was opened on that machine.
 */
export function pasteFor(snippet, settings, pageHost, machine) {
  const [, listen, port] = /^(.*):(\d+)$/.exec(settings['grpc.listen'] ?? '') ?? [];
  if (!port) return { text: snippet, note: '' };
  const guessed = everywhere.includes(listen);
  const host = !guessed ? listen : loopback.test(pageHost) && machine ? machine : pageHost;
  const has = (name) => settings[`grpc.${name}`] === 'true';
  const certificate = has('client_certificate');
  const files = {
    'tls.ca.file': has('tls') && 'ca.pem',
    'tls.cert.file': certificate && 'worker.pem',
    'tls.key.file': certificate && 'worker-key.pem',
    'token.file': has('token') && !certificate && 'bullet.token',
  };
  const lines = has('tls') ? [`${collector}tls.enabled: true`] : [];
  for (const [name, file] of Object.entries(files))
    if (file) lines.push(`${collector}${name}: "/etc/storm/bullet/${file}"`);
  const notes = [];
  if (guessed)
    notes.push(`The collector listens on all addresses of its machine. Replace ${host} if workers cannot resolve it.`);
  if (loopback.test(host))
    notes.push(`Only workers on the collector's own machine can reach ${host}; grpc.listen changes this.`);
  if (has('tls') || has('token'))
    notes.push(
      'Put the files on every Storm host, readable for the user of Storm only. A public CA needs no tls.ca.file.',
    );
  return {
    text: [snippet.replace(/"[^"]+:\d+"/, `"${host}:${port}"`), ...lines].join('\n'),
    note: notes.join(' '),
  };
}
