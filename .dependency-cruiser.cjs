/** Who may import whom (docs/architecture.md): folders, one reason per rule. */
const plain = (service) => `^src/${service}/(?!.*\\.(controller|module)\\.ts$)(?!(commands|queries)\\.ts$)`;
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
      to: { path: `^src/(${services}|engines|ops)/|^projections/` },
    },
    {
      name: 'directory-is-plain',
      severity: 'error',
      comment: 'reference data must not know a service',
      from: { path: '^src/directory/' },
      to: { path: `^src/(${services}|engines|ops)/|^projections/` },
    },
    {
      name: 'services-apart',
      severity: 'error',
      comment: 'a service asks its read model or reacts to events',
      from: { path: `^src/(${services})/` },
      to: { path: `^src/(${services})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'services-not-engines',
      severity: 'error',
      comment: 'services know the ports only',
      from: { path: `^src/(${services})/` },
      to: { path: '^src/(engines|ops)/' },
    },
    {
      name: 'plain-files-stay-plain',
      severity: 'error',
      comment: 'Nest lives at the edge',
      from: { path: plain(`(${services}|directory)`) },
      to: { path: '^src/http/|^projections/|node_modules/(@nestjs|fastify|@fastify)' },
    },
    {
      name: 'projections-are-plain',
      severity: 'error',
      comment: 'a projection is kernel and plain service files',
      from: { path: '^projections/' },
      to: {
        path: '^src/(http|engines|ops)/|\\.(controller|module)\\.ts$|/commands\\.ts$|node_modules/(@nestjs|fastify|@fastify)',
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
      from: { path: '^(src|projections|bench)/' },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '^dist/' },
  },
};
