// Repairs that are taken out again, one by one: `npm run world -- --mutants` shows which are found, and by how many seeds.
module.exports = [
  {
    name: 'a missing await: outcomes count as durable while they are appended',
    file: 'src/delivery/scheduling/outcome-writer.ts',
    from: 'if (!(await this.append(batch.map(({ event }) => event)))) return;',
    to: 'void this.append(batch.map(({ event }) => event));',
  },
  {
    name: 'a missing await: a batch counts as written before it is',
    file: 'src/projector/generation-projector.ts',
    from: '    await this.writer.write(await this.fold(byDocument), directory, upTo);\n',
    to: '    void this.writer.write(await this.fold(byDocument), directory, upTo).catch(() => undefined);\n',
  },
  {
    name: 'a missing await: the next batch is folded while the one before is written',
    file: 'src/projector/generation-projector.ts',
    from: '    if (byDocument.size === 0) return [];\n    const { inFlight } = this.writer;',
    to: '    if (byDocument.size === 0) return [];\n    const inFlight = new Map<string, FoldedDocument>();',
  },
  {
    name: 'a lease that is not renewed while its holder works',
    file: 'src/runtime/lease-holder.ts',
    from: 'if (this.leftMs > (this.ttlMs * 2) / 3 && !isBack) return true;',
    to: 'if (this.granted !== undefined) return true;',
  },
  {
    name: 'a lease that counts although its time is over',
    file: 'src/delivery/scheduling/dispatcher.ts',
    from: 'const isOpen = partition?.isOpen === true && partition.lease.leftMs >= this.longestMs;',
    to: 'const isOpen = partition?.isOpen === true;',
  },
  {
    name: 'a lease that another process may have had meanwhile',
    file: 'src/delivery/scheduling/delivery-runner.ts',
    from: 'const isTaken = hasEnded && (await partition.writer.isTaken());',
    to: 'const isTaken = false;',
  },
  {
    name: 'a checkpoint before its documents',
    file: 'src/projector/generation-projector.ts',
    from: '    try {\n      await this.store.write(\n        this.target,',
    to: '    if (checkpoint !== undefined) await this.store.write(this.target, [], checkpoint);\n    try {\n      await this.store.write(\n        this.target,',
  },
  {
    name: "an off-by-one in the matcher's cursor",
    file: 'src/delivery/matching/matcher-runner.ts',
    from: 'const options = { after: writer.cursor.upTo, prefixes, signal };',
    to: "const options = { after: String(Number(writer.cursor.upTo) + 1).padStart(19, '0'), prefixes, signal };",
  },
  {
    name: 'a cursor that is appended on its own, before what is due',
    file: 'src/delivery/matching/matched-writer.ts',
    from: '    const appended = await appendIdempotently(this.deliveries, MATCHED, this.revision, [\n      ...this.pending,\n      last,\n    ]);',
    to: '    const first = await appendIdempotently(this.deliveries, MATCHED, this.revision, [last]);\n    const appended = this.pending.length === 0 ? first : await appendIdempotently(this.deliveries, MATCHED, first.revision, this.pending);',
  },
  {
    name: 'a retry of an outcome without its id',
    file: 'src/delivery/scheduling/outcome-writer.ts',
    from: 'this.revision = (await this.log.append(stream, this.revision, events)).revision;',
    to: 'this.revision = (await this.log.append(stream, this.revision, events.map((event) => ({ ...event, id: globalThis.crypto.randomUUID() })))).revision;',
  },
  {
    name: 'a fence forgotten: a partition is taken over without an append',
    file: 'src/delivery/scheduling/partition-log.ts',
    from: 'const appended = await log.append(partitionStream(partition), revision, [',
    to: 'if (revision >= 0) return { state, revision };\n      const appended = await log.append(partitionStream(partition), revision, [',
  },
  {
    name: 'health that is compared by identity',
    file: 'projections/receiver-health.ts',
    from: 'return isDeepStrictEqual(health, known) ? before',
    to: 'return health === known ? before',
  },
];
