const { AsyncLocalStorage } = require('node:async_hooks');
const vm = require('node:vm');
const { createRequire } = require('node:module');
const { setTimeout: pause } = require('node:timers/promises');

const fromJest = createRequire(require.resolve('jest'));
const { installCommonGlobals } = fromJest('jest-util');
const { ModernFakeTimers } = fromJest('@jest/fake-timers');
const { ModuleMocker } = fromJest('jest-mock');

/** Where a file that leaves anything of these kinds behind fails: the next ones in this process would find it. */
const GUARDED = ['core', 'api'];
const KINDS = ['TCPSocketWrap', 'TCPServerWrap', 'UDPWrap', 'ProcessWrap'];

/** How long a file may take to get rid of it (ms). */
const LEFT_MS = 10_000;

/**
 * Jest runs each test in an `AsyncLocalStorage`, to know which one an error belongs to. Before Node.js 24 this makes
 * each `await` take five times as long. A variable does as well, since the tests of a file run one after the other.
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

/** Stands for the context of the process. */
const THIS_CONTEXT = {};

/**
 * Modules by path, as V8 has compiled them: each test file loads its support again. All run in
 * the context of the process.
 */
const compiled = new Map();
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, { parsingContext, ...options }) => {
  if (parsingContext !== THIS_CONTEXT)
    return compileFunction(code, parameters, { parsingContext, ...options });
  const known = compiled.get(options.filename);
  if (known?.code === code) return compileFunction(code, parameters, { ...options, cachedData: known.data });
  const made = compileFunction(code, parameters, { ...options, produceCachedData: true });
  compiled.set(options.filename, { code, data: made.cachedData });
  return made;
};

/** Symbols under which Jest keeps the state of a test file in the global object. */
const OF_JEST = /^(JEST_STATE|EVENT_HANDLERS|TEST_TIMEOUT|RETRY_|WAIT_BEFORE_RETRY|LOG_ERRORS)/;

const { process, console } = globalThis;
installCommonGlobals(globalThis, {});
globalThis.process = process;

/**
 * Runs test files in the context of the process, one after the other, so that they can share what was loaded
 * (`runtime.cjs`): classes of another context are others. What Jest keeps in the global object is removed after each,
 * and the environment of the process restored.
 */
module.exports = class {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);

  constructor({ globalConfig, projectConfig }) {
    this.before = {
      globals: Object.keys(projectConfig.globals),
      env: { ...process.env },
      exitCode: process.exitCode,
      exit: process.exit,
      getBuiltinModule: process.getBuiltinModule,
    };
    Object.assign(globalThis, projectConfig.globals);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    // What was loaded is not loaded again when it changes.
    const { watch, watchAll } = globalConfig;
    this.isAlone = watch || watchAll || projectConfig.testEnvironmentOptions.alone === true;
    this.kinds = GUARDED.includes(projectConfig.displayName?.name) ? KINDS : [];
    this.found = countOfKinds();
  }

  async setup() {
    // Jest keeps a hundred frames of every error, and some tests count on thousands of errors.
    Error.stackTraceLimit = 30;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    let left = this.left();
    for (
      const end = performance.now() + LEFT_MS;
      left.length > 0 && performance.now() < end;
      left = this.left()
    )
      await pause(10);
    this.restore();
    if (left.length > 0) throw new Error(`these tests end but leave open: ${left.join(', ')}`);
  }

  restore() {
    const { globals, env, ...properties } = this.before;
    Object.assign(process, properties);
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    globalThis.console = console;
    for (const key of Reflect.ownKeys(globalThis))
      if (globals.includes(key) || OF_JEST.test(key.description)) delete globalThis[key];
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return THIS_CONTEXT;
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
