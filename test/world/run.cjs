// Runs run-world.ts, and what it needs, from source: `npm run world -- --seed N`.
const { join } = require('node:path');
const { loadTypeScript } = require('../support/typescript.cjs');

const isStory = process.argv.includes('--seed');

/**
 * Worlds have few receivers, several of which share a partition all the same; and looks at what is as before cost most.
 */
const CHANGES = [
  { file: 'src/domain/subscriptions/receiver-id.ts', from: 'PARTITIONS = 64;', to: 'PARTITIONS = 8;' },
  { file: 'src/projector/runner.ts', from: 'LOOK_MS = 250;', to: 'LOOK_MS = 1000;' },
  { file: 'src/processes/automation-runner.ts', from: 'LOOK_MS = 500;', to: 'LOOK_MS = 1000;' },
];
/** Several are planted one by one, each in processes of its own. */
const at = process.argv.includes('--mutants') ? -1 : process.argv.indexOf('--mutant');
const changes = at === -1 ? CHANGES : [...CHANGES, require('./mutants.cjs')[process.argv[at + 1]]];

loadTypeScript({
  inline: isStory,
  change: (filename, source) => {
    for (const { file, from, to } of changes) {
      if (filename !== join(__dirname, '../..', file)) continue;
      if (source.split(from).length !== 2) throw new Error(`${file} has no single place of: ${from}`);
      source = source.replace(from, () => to);
    }
    return source;
  },
});
process.setSourceMapsEnabled(isStory);
require('./run-world.ts');
