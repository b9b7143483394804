const { createRequire } = require('node:module');

const { default: Sequencer } = createRequire(require.resolve('jest'))('@jest/test-sequencer');

/** The files that take longest, so that none is begun last; Jest itself knows times of former runs only. */
const SLOW = [
  'world/world',
  'servers/elasticsearch-store',
  'servers/bench',
  'server/console',
  'servers/console',
  'servers/restored-log',
  'api/described',
  'program/swap',
  'kills/log-export',
  'server/without-majority',
  'server/notify-keys',
  'server/start',
  'server/restore',
  'processes/notifiers',
  'threads/embedded-store',
  'operations/sql-models',
  'operations/sql-statements',
  'engines/search/search-index',
  'program/bench',
  'hostile/unwritable-output',
  'hostile/heavy-reads',
  'kills/backup',
  'kills/sql',
  'server/notifications',
  'processes/servers',
  'api/loads',
  'api/keys',
  'api/restored-feed',
  'api/console',
  'api/as-of',
  'api/search',
  'servers/processes',
  'servers/analysts',
  'servers/same-answers',
  'servers/planted-errors',
  'api/long-lists',
  'api/transaction-list',
  'api/since',
  'engines/search/segments',
  'engines/embedded-store',
  'world/memory-engines',
  'held-deliveries',
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
