// Prints the events of one stream of the log, or of all of them, as JSON lines. The server must serve its log:
//
//   affilog serve --esdb-port 2113
//   node examples/replay.mjs                 # all events
//   node examples/replay.mjs feed-1001       # one feed
//   node examples/replay.mjs '$ce-feed'      # all feeds; '$et-ProductRepriced' has all events of a type
//   node examples/replay.mjs feed-1001 'esdb://127.0.0.1:2113?tls=false'
//
// Amounts in events are integers: a "price" of 12990 is 129.90 (docs/operations.md, Replaying the log).
import esdb from '@eventstore/db-client';

// The reader may have seen enough: `node examples/replay.mjs | head`.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const [stream, url = 'esdb://127.0.0.1:2113?tls=false'] = process.argv.slice(2);
const client = esdb.EventStoreDBClient.connectionString(url);
const events =
  stream === undefined
    ? client.readAll({ fromPosition: esdb.START })
    : client.readStream(stream, { fromRevision: esdb.START, resolveLinkTos: true });
try {
  for await (const { event, link } of events) {
    if (event === undefined) continue;
    const { position, id, streamId, revision, type, metadata, data } = event;
    const line = {
      position: String(position?.commit ?? link?.position?.commit),
      id,
      stream: streamId,
      revision: Number(revision),
      type,
      metadata,
      data,
    };
    console.log(JSON.stringify(line));
  }
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
await client.dispose();

function explain(error) {
  if (error.type === esdb.ErrorType.STREAM_NOT_FOUND) return `there is no stream ${stream}`;
  if (error.type !== esdb.ErrorType.UNAVAILABLE) return error.message;
  return `nothing answers at ${url}: start the server with --esdb-port 2113, or name its port: replay.mjs [stream] URL`;
}
