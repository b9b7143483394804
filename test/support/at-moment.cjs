/**
 * Sends a signal to the process that loads it (`--require`) at a moment of its work, so that no test has to see
 * something that is there for a moment only, on a machine of whatever speed. AT_MOMENT is JSON: `moment`, a regular
 * expression for the beginning of one of those below; `nth`, which of them, as one thread counts; `signal`; and `once`,
 * a file without which none counts. It says STOPPED before a SIGSTOP.
 *
 * - `renaming NAME`, `renamed NAME`, `chmod NAME`: of a file, by `fs/promises`
 * - `written NAME.part`: a part of a file, by a stream
 * - `print TEXT`: on standard error, in the main thread
 * - `answered METHOD PATH`: a request of this process, by undici
 * - `committing TYPE`, `committed TYPE`: events of a type in the embedded log; `documents in FILE` of the embedded store; `generation
 *   COLLECTION` and `swap` in its registry
 */
const { subscribe } = require('node:diagnostics_channel');
const fs = require('node:fs');
const promises = require('node:fs/promises');
const { basename } = require('node:path');
const sqlite = require('@photostructure/sqlite');

const { moment, nth, signal, once } = JSON.parse(process.env.AT_MOMENT);
const isWanted = new RegExp(`^${moment}`);
let count = 0;

function happens(name) {
  if (!isWanted.test(name) || (once !== undefined && !fs.existsSync(once))) return;
  count += 1;
  if (count !== nth) return;
  if (signal === 'SIGSTOP') fs.writeSync(2, 'STOPPED\n');
  process.kill(process.pid, signal);
}

const { rename, chmod } = promises;
promises.rename = async (from, to) => {
  happens(`renaming ${basename(to)}`);
  await rename(from, to);
  happens(`renamed ${basename(to)}`);
};
promises.chmod = async (path, mode) => {
  await chmod(path, mode);
  happens(`chmod ${basename(path)}`);
};

const names = new Map();
const { open } = fs;
fs.open = (path, ...rest) => {
  const done = rest.pop();
  open(path, ...rest, (error, fd) => {
    if (fd !== undefined) names.set(fd, basename(String(path)));
    done(error, fd);
  });
};
for (const name of ['write', 'writev']) {
  const write = fs[name];
  fs[name] = (fd, ...rest) => {
    const done = rest.pop();
    write(fd, ...rest, (...answer) => {
      happens(`written ${names.get(fd)}`);
      done(...answer);
    });
  };
}

const { stderr } = process;
const print = stderr.write;
stderr.write = (text, ...rest) => {
  const isTaken = print.call(stderr, text, ...rest);
  happens(`print ${text}`);
  return isTaken;
};

subscribe('undici:request:trailers', ({ request }) => happens(`answered ${request.method} ${request.path}`));

/** What statements write, by their SQL, and their values. */
const WRITES = [
  // The type is the second of four values of each row.
  [/^INSERT INTO events /, (values) => values.filter((_, at) => at % 4 === 1)],
  [/^INSERT INTO keys /, (_, file) => [`documents in ${file}`]],
  [/^INSERT INTO generations /, ([collection]) => [`generation ${collection}`]],
  [/^UPDATE generations SET state = 'live'/, () => ['swap']],
];

class WatchedDatabase extends sqlite.DatabaseSync {
  #writes = new Set();
  #file;

  constructor(location, ...options) {
    super(location, ...options);
    this.#file = basename(String(location));
  }

  exec(sql) {
    return this.#committing(sql, () => super.exec(sql));
  }

  prepare(sql, ...options) {
    const statement = super.prepare(sql, ...options);
    const [, writesOf] = WRITES.find(([of]) => of.test(sql)) ?? [];
    for (const method of ['run', 'get']) {
      const own = statement[method];
      const value = (...values) => {
        if (writesOf !== undefined) for (const one of writesOf(values, this.#file)) this.#writes.add(one);
        return this.#committing(sql, () => own.apply(statement, values));
      };
      if (writesOf !== undefined || sql === 'COMMIT') Object.defineProperty(statement, method, { value });
    }
    return statement;
  }

  #committing(sql, work) {
    if (sql !== 'COMMIT') return work();
    const writes = [...this.#writes];
    this.#writes.clear();
    for (const one of writes) happens(`committing ${one}`);
    const result = work();
    for (const one of writes) happens(`committed ${one}`);
    return result;
  }
}

require.cache[require.resolve('@photostructure/sqlite')].exports = {
  ...sqlite,
  DatabaseSync: WatchedDatabase,
};
