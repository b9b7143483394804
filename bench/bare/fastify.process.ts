import { fastify } from 'fastify';

/** What is answered: the same bytes as the server under test answers. */
export interface SameAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Fastify alone, in a process of its own: it answers each path `/<number>` with what it was sent of that number. */
process.once('message', (answers: readonly SameAnswer[]) => {
  const server = fastify({ logger: false });
  for (const [at, { headers, body }] of answers.entries()) {
    const bytes = Buffer.from(body);
    server.route({
      method: ['GET', 'POST'],
      url: `/${at}`,
      handler: (_, reply) => {
        reply.headers(headers).send(bytes);
      },
    });
  }
  server.listen({ port: 0, host: '127.0.0.1' }).then(
    (origin) => process.send?.(origin),
    (error: unknown) => {
      throw error;
    },
  );
});
process.once('disconnect', () => process.exit());
