// Runs the named files' tests in one process, with one browser: node browser/all.mjs page look
for (const name of process.argv.slice(2)) await import(`./${name}.test.mjs`);
