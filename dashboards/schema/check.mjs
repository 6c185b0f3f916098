// Checks every dashboard against types.ts, in one run of the compiler: each is written as a constant of that type, on as many lines as
// its JSON has, so that an error's line is the JSON's own.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { spawnSync } from 'node:child_process';

const here = import.meta.dirname;
const directory = process.argv[2] ?? join(here, '..');
const written = join(here, 'written');
rmSync(written, { recursive: true, force: true });
mkdirSync(written);

const names = readdirSync(directory).filter((file) => file.endsWith('.json')).map((file) => basename(file, '.json'));
if (names.length === 0) {
  console.error(`no dashboards in ${directory}`);
  process.exit(1);
}
for (const name of names) {
  const json = readFileSync(join(directory, `${name}.json`), 'utf8').trim();
  JSON.parse(json);
  writeFileSync(join(written, `${name}.ts`), `import type { DashboardJSON } from '../types'; export const dashboard: DashboardJSON = ${json};\n`);
}
const compiler = spawnSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '--project', here, '--pretty', 'false'], { encoding: 'utf8', cwd: here });
const problems = (compiler.stdout + compiler.stderr).replaceAll(/written\/([\w-]+)\.ts\((\d+),\d+\)/g, '$1.json:$2');
if (compiler.status !== 0) {
  console.error(problems.trim());
  process.exit(1);
}
console.log(`${names.length} dashboards are of Grafana's types`);
