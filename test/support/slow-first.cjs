const { createRequire } = require('node:module');

const { default: Sequencer } = createRequire(require.resolve('jest'))('@jest/test-sequencer');

/** The files that take longest, so that none is begun last; Jest itself knows times of former runs only. */
const SLOW = [
  'world/world',
  'servers/elasticsearch-store',
  'api/described',
  'kills/log-export',
  'threads/embedded-store',
  'kills/backup',
  'processes/notifiers',
  'kills/sql',
  'server/restore',
  'hostile/heavy-reads',
  'server/notify-keys',
  'operations/sql',
  'engines/search/search-index',
  'engines/embedded-store',
  'world/memory-engines',
  'servers/bench',
  'servers/processes',
  'api/since',
  'api/keys',
  'api/restored-feed',
  'api/as-of',
  'api/transaction-list',
].map((name) => `/${name}.test.ts`);

/** Begins with the slowest files. */
module.exports = class extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const at = SLOW.findIndex((name) => path.endsWith(name));
      return at === -1 ? SLOW.length : at;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
