// Prints the events of one stream of the log, or of all of them, as JSON lines. The server must serve its log:
//
//   affilog serve --esdb-port 2113
//   node examples/replay.mjs                 # all events
//   node examples/replay.mjs feed-1001       # one feed
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
    : client.readStream(stream, { fromRevision: esdb.START });
for await (const { event } of events) {
  if (event === undefined) continue;
  const { streamId, revision, type, data } = event;
  console.log(JSON.stringify({ stream: streamId, revision: Number(revision), type, data }));
}
await client.dispose();
