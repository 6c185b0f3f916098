// Bundles the editor into a directory, one minified file, with the licences of all that is in it: node editor/build.mjs
// DIRECTORY
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2];
const {
  metafile,
  outputFiles: [bundle],
} = await build({
  absWorkingDir: root,
  entryPoints: ['editor/editor.mjs'],
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  metafile: true,
  write: false,
});

const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
  if (name) packages.add(name);
}
const licences = [...packages].sort().map((name) => {
  const directory = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const file = readdirSync(directory).find((f) => /^licen[cs]e/i.test(f));
  if (!file || !license) throw new Error(`${name} ${version} names no licence: leave it out of the bundle`);
  return `pkg:npm/${name.replace('@', '%40')}@${version} (${license})\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`;
});
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'editor.min.js'), bundle.contents);
writeFileSync(join(out, 'LICENSES'), `What editor.min.js is made of.\n\n${licences.join(`\n${'-'.repeat(80)}\n\n`)}`);
console.log(
  `${relative(process.cwd(), join(out, 'editor.min.js'))}: ${bundle.contents.length} bytes of ${packages.size} packages`,
);
