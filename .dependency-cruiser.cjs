/** Who may import whom (docs/architecture.md): folders, one reason per rule. A download reads its read models itself. */
const plain = (service) =>
  `^src/${service}/(?!.*\\.(controller|module|queries|commands)\\.ts$)(?!(automations|commands)\\.ts$)(?!download/)`;
const services = 'products|vouchers|transactions|subscriptions|claims';
/** What a service tells the delivery engine, and what it reads of it. */
const told =
  '^src/notifications/(topic|template|matching/compiled-template|matching/explain|matching/missed-messages|matching/rendering|subscription|loaded-subscription|sent-url|receiver-id|secrets|delivery-events|stored-delivery|scheduling/health)\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
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
      from: {
        orphan: true,
        pathNot: '\\.(test|d)\\.ts$|^(src/main|bench/main)\\.ts$|(thread|process)\\.ts$',
      },
      to: {},
    },
    {
      name: 'kernel-imports-nothing',
      severity: 'error',
      comment: 'the shared vocabulary depends on nothing',
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
      comment: 'shared HTTP code must not depend on a service',
      from: { path: '^src/http/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory|http)/' },
    },
    {
      name: 'directory-is-plain',
      severity: 'error',
      comment: 'reference data must not depend on a service',
      from: { path: '^src/directory/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory)/' },
    },
    {
      name: 'categories-are-reference-data',
      severity: 'error',
      comment: 'the category tree and mappings must not depend on a service',
      from: { path: '^src/categories/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|directory|categories)/' },
    },
    {
      name: 'projector-runs-any-projection',
      severity: 'error',
      comment: 'the projector runs any projection and depends on none',
      from: { path: '^src/projector/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|directory|projector)/' },
    },
    {
      name: 'automation-runs-any-automation',
      severity: 'error',
      comment: 'the runner of automations depends on none',
      from: { path: '^src/automation/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|directory|projector|automation)/' },
    },
    {
      name: 'notifications-know-no-service',
      severity: 'error',
      comment: 'the delivery engine delivers whatever services tell it',
      from: { path: '^src/notifications/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|notifications)/' },
    },
    {
      name: 'services-apart',
      severity: 'error',
      comment: 'a service queries its read model or reacts to events, and uses ports, not engines',
      from: { path: `^src/(${services})/` },
      to: {
        path: '^(src|projections)/',
        pathNot: `^src/(kernel|wire|directory|categories|http|automation|conversions|$1)/|^projections/|${told}`,
      },
    },
    {
      name: 'plain-files-stay-plain',
      severity: 'error',
      comment: 'Nest and queries belong at the edge',
      from: { path: plain(`(${services})`) },
      to: {
        path: '^(src|projections)/',
        pathNot: `^src/(kernel|wire|directory|categories|$1)/|^src/domain/conversion-faults|${told}`,
      },
    },
    {
      name: 'conversions-are-shared',
      severity: 'error',
      comment: 'what transactions and notifications have in common must not depend on either',
      from: { path: '^src/conversions/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|wire|http|conversions)/' },
    },
    {
      name: 'nest-at-the-edge',
      severity: 'error',
      comment: 'deciding and folding need no framework',
      from: {
        path: `${plain(`(${services}|directory|categories)`)}|^(projections|src/(engines|projector))/`,
      },
      to: { path: 'node_modules/(@nestjs|fastify|@fastify)' },
    },
    {
      name: 'projections-are-plain',
      severity: 'error',
      comment: 'a projection only needs the kernel and plain service files',
      from: { path: '^projections/' },
      to: {
        path: '^(src|projections)/',
        pathNot: `^src/(kernel|wire|directory|categories|projector)/|^projections/|${plain(`(${services})`)}|${told}`,
      },
    },
    {
      name: 'engines-know-the-kernel',
      severity: 'error',
      comment: 'an engine implements the ports',
      from: { path: '^src/engines/' },
      to: { path: '^(src|projections)/', pathNot: '^src/(kernel|engines)/' },
    },
    {
      name: 'engines-opened-once',
      severity: 'error',
      comment: 'engines are selected in one function',
      from: { path: '^(src|projections)/', pathNot: '^src/engines/' },
      to: { path: '^src/engines/', pathNot: '^src/engines/(open\\.ts$|esdb-endpoint/)' },
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
