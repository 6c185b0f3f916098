// Checks every dashboard against types.ts, in one run of the compiler: each is written as a constant of that type, on
// as many lines as its JSON has, so that an error's line is the JSON's own. Those under testdata/types have one thing
// wrong each, and must be refused for it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { spawnSync } from 'node:child_process';

const here = import.meta.dirname;
const home = process.argv[2] ?? join(here, '..');
const written = join(here, 'written');

const good = namesIn(home);
const bad = namesIn(join(home, 'testdata/types'));
if (good.length === 0) fail([`no dashboards in ${home}`]);
rmSync(written, { recursive: true, force: true });
mkdirSync(written);
for (const name of good) write(name, join(home, `${name}.json`));
for (const name of bad) write(`bad-${name}`, join(home, `testdata/types/${name}.json`));

const compiler = spawnSync(
  process.execPath,
  [join(here, 'node_modules/typescript/bin/tsc'), '--project', here, '--pretty', 'false'],
  { encoding: 'utf8', cwd: here },
);
const said = (compiler.stdout + compiler.stderr)
  .trim()
  .split('\n')
  .filter((line) => line !== '');
const ofBad = /^written\/bad-([\w-]+)\.ts/;
const wrong = said
  .filter((line) => !ofBad.test(line) && !line.startsWith(' '))
  .map((line) => line.replace(/^written\/([\w-]+)\.ts\((\d+),\d+\)/, '$1.json:$2'));
if (wrong.length > 0) fail(wrong);
const refused = new Set(said.map((line) => ofBad.exec(line)?.[1]));
const taken = bad.filter((name) => !refused.has(name));
if (taken.length > 0) fail(taken.map((name) => `testdata/types/${name}.json was not refused`));
console.log(`${good.length} dashboards are of Grafana's types, ${bad.length} bad ones are not`);

function namesIn(directory) {
  try {
    return readdirSync(directory)
      .filter((file) => file.endsWith('.json'))
      .map((file) => basename(file, '.json'));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function write(name, file) {
  const json = readFileSync(file, 'utf8').trim();
  JSON.parse(json);
  writeFileSync(
    join(written, `${name}.ts`),
    `import type { DashboardJSON } from '../types'; export const dashboard: DashboardJSON = ${json};\n`,
  );
}

function fail(lines) {
  console.error(lines.join('\n'));
  process.exit(1);
}
