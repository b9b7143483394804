/**
 * Who may import whom (docs/architecture.md, Folders): a folder imports those before it in this list, and none of those behind it.
 */
const RINGS = [
  'src/kernel',
  'src/runtime',
  'src/wire',
  'src/network',
  'src/settings',
  'src/engines',
  'src/replay',
  'src/domain',
  'src/projector',
  'projections',
  'src/delivery',
  'src/processes',
  'src/http',
  'src/services',
  'src/operations',
  'src/demo',
  'src/console',
  'src/docs',
  'src/app',
  'src/cli',
  'src/main',
];

const inAny = (rings) => `^(${rings.join('|')})(/|\\.ts$)`;

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...RINGS.slice(0, -1).map((ring, at) => ({
      name: `${ring}-imports-downwards`,
      severity: 'error',
      comment: 'imports go down: what is below can be read, tested and changed without what is above',
      from: { path: inAny([ring]) },
      to: { path: inAny(RINGS.slice(at + 1)) },
    })),
    {
      name: 'every-folder-has-a-ring',
      severity: 'error',
      comment: 'a new folder is placed in the list of rings, and in the table of docs/architecture.md',
      from: { path: '^(src|projections)/', pathNot: inAny(RINGS) },
      to: {},
    },
    {
      name: 'no-circles',
      severity: 'error',
      comment: 'circular imports leave no place to start reading',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'a file that is never imported is dead',
      from: { orphan: true, pathNot: '\\.(test|d)\\.ts$|/main\\.ts$|\\.(thread|process)\\.ts$' },
      to: {},
    },
    {
      name: 'kernel-imports-nothing',
      severity: 'error',
      comment: 'the shared vocabulary depends on nothing',
      from: { path: '^src/kernel/' },
      to: { pathNot: '^src/kernel/|^(node:)?(crypto|util)$' },
    },
    {
      name: 'engines-know-the-ports',
      severity: 'error',
      comment: 'an engine implements the ports, for any events',
      from: { path: '^src/engines/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|runtime|engines)/' },
    },
    {
      name: 'engines-opened-once',
      severity: 'error',
      comment: 'engines are selected by URL in one place',
      from: { path: '^(src|projections)/', pathNot: '^src/engines/' },
      to: { path: '^src/engines/[^/]+/' },
    },
    {
      name: 'rules-use-ports',
      severity: 'error',
      comment:
        'what must be true does not depend on how it is stored, and neither does the work of processes',
      from: { path: '^(src/(domain|projector|delivery|processes|services)|projections)/' },
      to: { path: '^src/(engines|replay|settings)/' },
    },
    {
      name: 'projector-runs-any-projection',
      severity: 'error',
      comment: 'the projector runs any projection and depends on none',
      from: { path: '^src/projector/' },
      to: { path: '^src/(wire|domain)/' },
    },
    {
      name: 'delivery-delivers-anything',
      severity: 'error',
      comment: 'the delivery engine delivers whatever domains tell it',
      from: { path: '^src/delivery/' },
      to: { path: '^src/domain/', pathNot: '^src/domain/(subscriptions|deliveries|keys)/' },
    },
    {
      name: 'services-apart',
      severity: 'error',
      comment: 'what services share is below them',
      from: { path: '^src/services/([^/]+)/' },
      to: { path: '^src/services/[^/]+/', pathNot: '^src/services/$1/' },
    },
    {
      name: 'nest-at-the-edge',
      severity: 'error',
      comment: 'formats, rules, engines and read models need no framework',
      from: {
        path: '^(src/(kernel|runtime|wire|network|settings|engines|replay|domain|projector|delivery|processes)|projections)/',
      },
      to: { path: 'node_modules/(@nestjs|fastify|@fastify)' },
    },
    {
      name: 'tests-are-not-shipped',
      severity: 'error',
      comment: 'shipped code does not use test files',
      from: { path: '^(src|projections)/' },
      to: { path: '^test/' },
    },
    {
      name: 'benches-use-the-writable-eventstoredb',
      severity: 'error',
      comment: 'the only test files that benchmarks use; they are compiled for them',
      from: { path: '^bench/' },
      to: { path: '^test/', pathNot: '^test/support/esdb-writing/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '^dist/' },
  },
};
