const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync, version } = require('@swc/core');

/** How swc compiles TypeScript, here and in Jest. */
exports.SWC = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2023',
  },
  module: { type: 'commonjs' },
};

/** What was compiled before, by any process. */
const CACHE = join(__dirname, '../../node_modules/.cache/typescript');

/**
 * Lets `require` load TypeScript. `change` gets each file and its source and returns what is compiled. Returns the
 * files of source maps by the file that was loaded; `inline` puts the maps into the code, for Node.js.
 */
exports.loadTypeScript = ({ inline = false, change = (_, source) => source } = {}) => {
  mkdirSync(CACHE, { recursive: true });
  const options = { ...exports.SWC, sourceMaps: inline ? 'inline' : true };
  const maps = new Map();
  require.extensions['.ts'] = (module, filename) => {
    const source = change(filename, readFileSync(filename, 'utf8'));
    const key = createHash('sha256')
      .update(JSON.stringify([version, options, filename, source]))
      .digest('hex');
    const path = join(CACHE, `${key}.js`);
    let code = contentOf(path);
    if (code === undefined) {
      const compiled = transformSync(source, { filename, ...options });
      code = compiled.code;
      if (!inline) replaceFile(`${path}.map`, compiled.map);
      replaceFile(path, code);
    }
    if (!inline) maps.set(filename, `${path}.map`);
    module._compile(code, filename);
  };
  const resolve = Module._resolveFilename;
  // What is loaded when it is needed is named as Node.js wants it: with the ending of the built file.
  Module._resolveFilename = (request, parent, ...rest) =>
    resolve(
      request.startsWith('.') && parent?.filename?.endsWith('.ts') ? request.replace(/\.js$/, '') : request,
      parent,
      ...rest,
    );
  return maps;
};

function contentOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Other processes see all of it or nothing. */
function replaceFile(path, content) {
  writeFileSync(`${path}.${process.pid}`, content);
  renameSync(`${path}.${process.pid}`, path);
}
