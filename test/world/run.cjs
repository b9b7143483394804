// Runs run-world.ts, and what it needs, from source: `npm run world -- --seed N`.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync } = require('@swc/core');

const jsc = {
  parser: { syntax: 'typescript', decorators: true },
  transform: { legacyDecorator: true, decoratorMetadata: true },
  target: 'es2023',
};
const at = process.argv.indexOf('--mutant');
const mutant = at === -1 ? undefined : require('./mutants.cjs')[process.argv[at + 1]];
const mutated = mutant && join(__dirname, '../..', mutant.file);
require.extensions['.ts'] = (module, filename) => {
  let source = readFileSync(filename, 'utf8');
  if (filename === mutated) {
    if (source.split(mutant.from).length !== 2)
      throw new Error(`${mutant.file} has no single place for: ${mutant.name}`);
    source = source.replace(mutant.from, () => mutant.to);
  }
  const { code } = transformSync(source, {
    filename,
    jsc,
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  });
  module._compile(code, filename);
};
const resolve = Module._resolveFilename;
// What is loaded when it is needed is named as Node.js wants it: with the ending of the built file.
Module._resolveFilename = (request, parent, ...rest) =>
  resolve(
    request.startsWith('.') && parent?.filename.endsWith('.ts') ? request.replace(/\.js$/, '') : request,
    parent,
    ...rest,
  );
process.setSourceMapsEnabled(process.argv.includes('--seed'));
require('./run-world.ts');
