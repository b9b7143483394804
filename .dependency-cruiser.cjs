/** Who may import whom (docs/architecture.md): folders, one reason per rule. A download reads its read models itself. */
const plain = (service) =>
  `^src/${service}/(?!.*\\.(controller|module|queries)\\.ts$)(?!(commands|queries)\\.ts$)(?!download/)`;
const services = 'products|vouchers|transactions|notifications|claims';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      comment: 'a circle has no bottom to start reading at',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'a file nobody imports is dead',
      from: { orphan: true, pathNot: '\\.(test|d)\\.ts$|^(src/main|bench/main)\\.ts$|thread\\.ts$' },
      to: {},
    },
    {
      name: 'kernel-imports-nothing',
      severity: 'error',
      comment: 'the vocabulary stands alone',
      from: { path: '^src/kernel/' },
      to: { pathNot: '^src/kernel/|^(node:)?(crypto|timers|util|events|assert|worker_threads)' },
    },
    {
      name: 'wire-knows-only-kernel',
      severity: 'error',
      comment: 'formats are plain functions',
      from: { path: '^src/wire/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire)/' },
    },
    {
      name: 'wire-without-nest',
      severity: 'error',
      comment: 'formats are plain functions',
      from: { path: '^src/(kernel|wire)/' },
      to: { path: 'node_modules/(@nestjs|fastify|@fastify)' },
    },
    {
      name: 'http-is-shared-glue',
      severity: 'error',
      comment: 'glue must not know a service',
      from: { path: '^src/http/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory|http)/' },
    },
    {
      name: 'directory-is-plain',
      severity: 'error',
      comment: 'reference data must not know a service',
      from: { path: '^src/directory/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory)/' },
    },
    {
      name: 'categories-are-reference-data',
      severity: 'error',
      comment: 'the tree and its mappings must not know a service',
      from: { path: '^src/categories/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory|categories)/' },
    },
    {
      name: 'projector-runs-any-projection',
      severity: 'error',
      comment: 'the machine must not know which read models there are',
      from: { path: '^src/projector/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|directory|projector)/' },
    },
    {
      name: 'services-apart',
      severity: 'error',
      comment: 'a service asks its read model or reacts to events, and knows the ports, not the engines',
      from: { path: `^src/(${services})/` },
      to: {
        path: '^(src|projections)/',
        pathNot: '^src/(kernel|wire|directory|categories|http|$1)/|^projections/',
      },
    },
    {
      name: 'plain-files-stay-plain',
      severity: 'error',
      comment: 'Nest and queries live at the edge',
      from: { path: plain(`(${services})`) },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory|categories|$1)/' },
    },
    {
      name: 'nest-at-the-edge',
      severity: 'error',
      comment: 'what decides and folds needs no framework',
      from: {
        path: `${plain(`(${services}|directory|categories)`)}|^(projections|src/(engines|projector))/`,
      },
      to: { path: 'node_modules/(@nestjs|fastify|@fastify)' },
    },
    {
      name: 'projections-are-plain',
      severity: 'error',
      comment: 'a projection is kernel and plain service files',
      from: { path: '^projections/' },
      to: {
        path: '^(src|projections)/',
        pathNot: `^src/(kernel|wire|directory|categories|projector)/|^projections/|${plain(`(${services})`)}`,
      },
    },
    {
      name: 'engines-know-the-kernel',
      severity: 'error',
      comment: 'an engine serves the ports',
      from: { path: '^src/engines/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|engines)/' },
    },
    {
      name: 'engines-opened-once',
      severity: 'error',
      comment: 'chosen in one function',
      from: { path: '^(src|projections)/', pathNot: '^src/engines/' },
      to: { path: '^src/engines/', pathNot: '^src/engines/open\\.ts$' },
    },
    {
      name: 'tests-are-not-shipped',
      severity: 'error',
      comment: 'nothing shipped needs a test file',
      from: { path: '^(src|projections)/' },
      to: { path: '^test/' },
    },
    {
      name: 'benches-use-the-writable-eventstoredb',
      severity: 'error',
      comment: 'the only part of the tests that benchmarks need: it is compiled for them',
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
