const { AsyncLocalStorage } = require('node:async_hooks');
const vm = require('node:vm');
const { createRequire } = require('node:module');
const { setTimeout: pause } = require('node:timers/promises');

const { TestEnvironment } = createRequire(require.resolve('jest'))('jest-environment-node');

/** Where a file that leaves anything of these kinds behind fails: the next ones in this process would find it. */
const GUARDED = ['core', 'api'];
const KINDS = ['TCPSocketWrap', 'TCPServerWrap', 'UDPWrap', 'ProcessWrap'];

/** How long a file may take to get rid of it (ms). */
const LEFT_MS = 10_000;

/**
 * Jest runs each test in an `AsyncLocalStorage`, to know which one an error belongs to. Before Node.js 24 this makes each `await` take
 * five times as long. A variable does as well, since the tests of a file run one after the other.
 */
AsyncLocalStorage.prototype.run = function run(store, work, ...args) {
  const before = this.current;
  this.current = store;
  const result = work(...args);
  const restore = () => (this.current = before);
  if (typeof result?.then === 'function') return result.finally(restore);
  restore();
  return result;
};
AsyncLocalStorage.prototype.getStore = function getStore() {
  return this.current;
};

/** Modules by path, as V8 has compiled them: each test file loads the same ones again. */
const compiled = new Map();
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, options) => {
  const known = compiled.get(options.filename);
  if (known?.code === code) return compileFunction(code, parameters, { ...options, cachedData: known.data });
  const made = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(options.filename, { code, data: made.cachedData });
  return made;
};

/**
 * The environment of Jest for Node.js, whose global variables are those of an ordinary context: in Jest's own, each use of
 * one (`Math`, `Buffer`) calls an interceptor, which takes a hundred times as long.
 */
module.exports = class extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    // Node.js 22 has it from 22.8; without it the context is as before.
    vm.createContext = () => createContext(vm.constants?.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
    this.kinds = GUARDED.includes(config.projectConfig.displayName?.name) ? KINDS : [];
    this.found = countOfKinds();
  }

  async teardown() {
    await super.teardown();
    let left = this.left();
    for (
      const end = performance.now() + LEFT_MS;
      left.length > 0 && performance.now() < end;
      left = this.left()
    )
      await pause(10);
    if (left.length > 0) throw new Error(`these tests end but leave open: ${left.join(', ')}`);
  }

  left() {
    const count = countOfKinds();
    return this.kinds
      .filter((kind) => count[kind] > this.found[kind])
      .map((kind) => `${count[kind] - this.found[kind]} ${kind}`);
  }
};

function countOfKinds() {
  const all = process.getActiveResourcesInfo();
  return Object.fromEntries(KINDS.map((kind) => [kind, all.filter((one) => one === kind).length]));
}
