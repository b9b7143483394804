import { hash } from 'node:crypto';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { hasVersion } from '../../wire/conditions';

/** Content that does not change while the process runs: clients may cache it and revalidate by ETag. */
export class StaticContent {
  private readonly etag: string;

  constructor(
    private readonly contentType: string,
    private readonly body: string | Buffer,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {
    this.etag = `"${hash('sha1', body)}"`;
  }

  send({ headers }: FastifyRequest, reply: FastifyReply): void {
    reply
      .headers({ ...this.headers, ETag: this.etag, 'Cache-Control': 'no-cache' })
      .header('X-Content-Type-Options', 'nosniff');
    if (hasVersion(headers['if-none-match'], this.etag)) void reply.code(304).send();
    else void reply.type(this.contentType).send(this.body);
  }
}
