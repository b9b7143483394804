// Runs run-world.ts, and what it needs, from source: `npm run world -- --seed N`.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync, version } = require('@swc/core');

const isStory = process.argv.includes('--seed');
const options = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2023',
  },
  module: { type: 'commonjs' },
  sourceMaps: isStory ? 'inline' : false,
};
/** What was compiled before, by any process. */
const cache = join(__dirname, '../../node_modules/.cache/worlds');
mkdirSync(cache, { recursive: true });

function compiled(source, filename) {
  const key = createHash('sha256')
    .update(JSON.stringify([version, options, filename, source]))
    .digest('hex');
  const path = join(cache, `${key}.js`);
  try {
    return readFileSync(path, 'utf8');
  } catch {
    const { code } = transformSync(source, { filename, ...options });
    writeFileSync(`${path}.${process.pid}`, code);
    renameSync(`${path}.${process.pid}`, path);
    return code;
  }
}

/** Worlds have few receivers, several of which share a partition all the same; and looks at what is as before cost most. */
const CHANGES = [
  { file: 'src/domain/subscriptions/receiver-id.ts', from: 'PARTITIONS = 64;', to: 'PARTITIONS = 8;' },
  { file: 'src/projector/runner.ts', from: 'LOOK_MS = 250;', to: 'LOOK_MS = 1000;' },
  { file: 'src/processes/automation-runner.ts', from: 'LOOK_MS = 500;', to: 'LOOK_MS = 1000;' },
];
/** Several are planted one by one, each in processes of its own. */
const at = process.argv.includes('--mutants') ? -1 : process.argv.indexOf('--mutant');
const changes = at === -1 ? CHANGES : [...CHANGES, require('./mutants.cjs')[process.argv[at + 1]]];
require.extensions['.ts'] = (module, filename) => {
  let source = readFileSync(filename, 'utf8');
  for (const { file, from, to } of changes) {
    if (filename !== join(__dirname, '../..', file)) continue;
    if (source.split(from).length !== 2) throw new Error(`${file} has no single place of: ${from}`);
    source = source.replace(from, () => to);
  }
  module._compile(compiled(source, filename), filename);
};
const resolve = Module._resolveFilename;
// What is loaded when it is needed is named as Node.js wants it: with the ending of the built file.
Module._resolveFilename = (request, parent, ...rest) =>
  resolve(
    request.startsWith('.') && parent?.filename.endsWith('.ts') ? request.replace(/\.js$/, '') : request,
    parent,
    ...rest,
  );
process.setSourceMapsEnabled(isStory);
require('./run-world.ts');
