// The layers of the topology map. A component is placed after all components that feed it. Pure.
import { byName } from './matrix.js';

/**
 * layersOf orders components by their streams. Spouts come first, and each bolt is one layer after the last component
 * that feeds it. Streams that lead back are ignored.
 */
export function layersOf(names, streams) {
  const feeds = new Map(names.map((name) => [name, []]));
  for (const [from, to] of forward(names, streams)) feeds.get(to).push(from);
  const depth = new Map();
  const depthOf = (name) => {
    if (!depth.has(name)) depth.set(name, Math.max(-1, ...feeds.get(name).map(depthOf)) + 1);
    return depth.get(name);
  };
  const layers = [];
  for (const name of [...names].sort(byName)) (layers[depthOf(name)] ??= []).push(name);
  return layers.filter(Boolean);
}

// forward returns the streams that do not close a cycle, in a depth-first search from the spouts.
function forward(names, streams) {
  const pairs = streams.filter(({ from, to }) => names.includes(from) && names.includes(to) && from !== to);
  const fed = new Set(pairs.map((s) => s.to));
  const seen = new Set();
  const onWay = new Set();
  const kept = [];
  const walk = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    onWay.add(name);
    for (const { from, to } of pairs) {
      if (from !== name || onWay.has(to)) continue;
      kept.push([from, to]);
      walk(to);
    }
    onWay.delete(name);
  };
  const sorted = [...names].sort(byName);
  for (const name of [...sorted.filter((n) => !fed.has(n)), ...sorted]) walk(name);
  return kept;
}

/** levelOf returns the level of a busy share, which is also the name of its colour. */
export function levelOf(busy) {
  if (busy == null) return 'unmeasured';
  return busy >= 0.9 ? 'saturated' : busy >= 0.7 ? 'busy' : busy >= 0.4 ? 'working' : 'idle';
}

/**
 * streamsOf returns the streams between components: those that the registry knows and those with executed tuples. The
 * rate is null if it is unknown.
 */
export function streamsOf(components, executed) {
  const rates = new Map(
    executed.map((r) => [JSON.stringify([r.metric.source, r.metric.component, r.metric.stream]), Number(r.value[1])]),
  );
  const all = new Map();
  for (const c of components)
    for (const i of c.inputs ?? [])
      if (!i.component.startsWith('__') && !c.name.startsWith('__'))
        all.set(JSON.stringify([i.component, c.name, i.stream]), {
          from: i.component,
          to: c.name,
          stream: i.stream,
          grouping: i.grouping,
          rate: null,
        });
  for (const [key, rate] of rates) {
    const [from, to, stream] = JSON.parse(key);
    if (!from || from.startsWith('__') || to.startsWith('__') || (stream ?? '').startsWith('__')) continue;
    all.set(key, { from, to, stream, grouping: '', ...all.get(key), rate });
  }
  return [...all.values()].sort((a, b) => byName(a.from, b.from) || byName(a.to, b.to) || byName(a.stream, b.stream));
}
