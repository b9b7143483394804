const { createRequire, isBuiltin } = require('node:module');
const { dirname, join, resolve, sep } = require('node:path');
const { loadTypeScript } = require('./typescript.cjs');

const { default: Runtime } = createRequire(require.resolve('jest'))('jest-runtime');

const ROOT = join(__dirname, '../..');
const SOURCES = ['src', 'projections', 'bench'].map((folder) => join(ROOT, folder) + sep);

const maps = loadTypeScript();

/**
 * Loads packages and the sources once for all test files of a process (ADR 58). Tests and their support are loaded by
 * each file. One that replaces a module begins with `@jest-environment-options {"alone": true}`, and loads everything.
 */
module.exports = class extends Runtime {
  requireModuleOrMock(from, name) {
    if (this._environment.isAlone || !isShared(from, name)) return super.requireModuleOrMock(from, name);
    const count = maps.size;
    const exports = createRequire(from)(name);
    if (maps.size > count) this.knowMaps();
    return exports;
  }

  knowMaps() {
    const own = this.getSourceMaps();
    for (const [file, map] of maps) own.set(file, map);
  }
};

function isShared(from, name) {
  if (name.startsWith('.')) {
    const path = resolve(dirname(from), name) + sep;
    return SOURCES.some((folder) => path.startsWith(folder));
  }
  return !name.startsWith('/') && !name.startsWith('@jest/') && !isBuiltin(name);
}
