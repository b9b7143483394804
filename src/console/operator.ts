import { type Readable } from 'node:stream';
import { type FastifyInstance } from 'fastify';

/** A request that was refused, with what its errors say. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export type Keys = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

interface AnsweredPage<Answer> {
  readonly answer: Answer;
  readonly total: number | undefined;
  readonly next: string | undefined;
}

type Inject = FastifyInstance['inject'];

/**
 * What a page reads and changes: the operations under `/ops/1.0` that operators have over HTTP, called in this process with
 * the token of the session. So pages show and do what anybody's program can, within the same limits.
 */
export class Operator {
  constructor(
    private readonly inject: Inject,
    private readonly token: string,
  ) {}

  /** The answer as JSON. Raises `Refused`. */
  async get<Answer>(path: string, keys: Keys = {}): Promise<Answer> {
    return (await this.page<Answer>(path, keys)).answer;
  }

  /** The answer as JSON, of how many items it is a page, and the cursor of the next one. Raises `Refused`. */
  async page<Answer>(path: string, keys: Keys = {}): Promise<AnsweredPage<Answer>> {
    const { payload, headers } = await this.call('GET', path, keys);
    const { 'x-total-count': total, 'x-next-cursor': next } = headers;
    return {
      answer: JSON.parse(payload) as Answer,
      total: total === undefined ? undefined : Number(total),
      next: next === undefined ? undefined : String(next),
    };
  }

  /** The lines of an answer, each JSON. Raises `Refused`. */
  async lines<Line>(path: string, keys: Keys = {}): Promise<readonly Line[]> {
    const { payload } = await this.call('GET', path, keys);
    return payload
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Raises `Refused`. */
  async change(method: 'DELETE' | 'POST', path: string, keys: Keys = {}, body?: object): Promise<void> {
    await this.call(method, path, keys, body);
  }

  /** What is longer than a page can show is not read on. */
  private async textOf(stream: Readable, path: string): Promise<string> {
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MOST)
        throw new Refused(
          TOO_LARGE,
          `this is more than a page can show: ask for a part of it, or have a program read ${path}`,
        );
    }
    return text;
  }

  private async call(method: 'DELETE' | 'GET' | 'POST', path: string, keys: Keys, body?: object) {
    const answer = await this.inject({
      payloadAsStream: true,
      method,
      url: addressOf(path, keys),
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: 'application/json, application/x-ndjson',
        ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const payload = await this.textOf(answer.stream(), path);
    // A server that is not ready says why.
    if (answer.statusCode >= 400 && path !== '/health/ready')
      throw new Refused(answer.statusCode, messageIn(payload));
    return { payload, headers: answer.headers };
  }
}

/** Characters of an answer that a page shows: it is in memory as a whole, several times. */
const MOST = 8_000_000;
const TOO_LARGE = 413;

/** The path with its keys, in the notation of the API: `/ops/1.0/log;type=ProductListed;limit=3`. */
function addressOf(path: string, keys: Keys): string {
  const written = Object.entries(keys).map(([name, value]) => {
    const values = [value ?? ''].flat().filter((one) => one !== '');
    return values.length === 0 ? '' : `;${name}=${values.map((one) => encodeURIComponent(one)).join(',')}`;
  });
  // Without a literal semicolon an encoded one would separate keys (`docs/decisions.md#a2`).
  return path + (written.join('') || ';');
}

function messageIn(payload: string): string {
  try {
    const { errors = [], report = [] } = JSON.parse(payload) as Record<
      'errors' | 'report',
      readonly { readonly message?: string }[] | undefined
    >;
    return [...errors, ...report].flatMap(({ message }) => message ?? []).join('; ');
  } catch {
    return 'the server could not answer';
  }
}
