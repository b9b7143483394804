import { type Readable } from 'node:stream';
import { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify';
import { ClientGone } from '../http/read-queue';
import { type Shape } from '../wire/api/description';
import { type AnswerOf, type Kind } from '../wire/record/record';

/** A request that was refused, with what its errors say. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export type SentKeys = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** An operation that answers something: the table of its answer is the type of what is read. */
export interface Answered<K extends Kind> {
  readonly answer: Shape<K>;
}

type Inject = FastifyInstance['inject'];

/**
 * What a page reads and changes: the operations under `/ops/1.0` that operators have over HTTP, called in this process with
 * the token of the session. So pages show and do what anybody's program can, within the same limits. Paths have values of
 * the keys as `:name`; the other keys follow them.
 */
export class Operator {
  /** `gone` ends operations that have not begun to answer, such as statements of SQL: they raise `ClientGone`. */
  constructor(
    private readonly inject: Inject,
    private readonly token: string,
    private readonly gone?: AbortSignal,
  ) {}

  /** The answer of an operation. Raises `Refused`. */
  async get<K extends Kind>(operation: Answered<K>, path: string, keys: SentKeys = {}): Promise<AnswerOf<K>> {
    return (await this.page(operation, path, keys)).answer;
  }

  /** The answer, of how many items it is a page, and the cursor of the next one. Raises `Refused`. */
  async page<K extends Kind>(_operation: Answered<K>, path: string, keys: SentKeys = {}) {
    const { payload, headers } = await this.call('GET', path, keys);
    const { 'x-total-count': total, 'x-next-cursor': next } = headers;
    const answer = JSON.parse(payload) as AnswerOf<K>;
    return { answer, total: total === undefined ? undefined : Number(total), next: next?.toString() };
  }

  /** What somebody asks who may ask without a token, too, whatever the status is. */
  async health<Answer>(path: '/health/ready'): Promise<Answer> {
    return JSON.parse((await this.call('GET', path, {})).payload) as Answer;
  }

  /** The lines of an answer, each JSON. Raises `Refused`. */
  async lines<Line>(path: string, keys: SentKeys = {}): Promise<readonly Line[]> {
    const { payload } = await this.call('GET', path, keys);
    const lines = payload.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Line);
  }

  /** `values` are those of the path. Raises `Refused`. */
  async change(method: 'DELETE' | 'POST', path: string, values: SentKeys, keys: SentKeys, body?: object) {
    await this.call(method, filled(path, values, segment), keys, body);
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

  private async call(method: 'DELETE' | 'GET' | 'POST', path: string, keys: SentKeys, body?: object) {
    const type = body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
    const answer = await this.answered({
      payloadAsStream: true,
      method,
      url: addressOf(path, keys),
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: 'application/json, application/x-ndjson',
        ...type,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const payload = await this.textOf(answer.stream(), path);
    // A server that is not ready answers with the reason.
    if (answer.statusCode >= 400 && path !== '/health/ready')
      throw new Refused(answer.statusCode, messageIn(payload));
    return { payload, headers: answer.headers };
  }

  private async answered(request: InjectOptions): Promise<LightMyRequestResponse> {
    const { gone } = this;
    if (gone === undefined) return await this.inject(request);
    // An answer that is being read must not be aborted: Fastify would fail.
    const waiting = new AbortController();
    const leave = (): void => waiting.abort();
    gone.addEventListener('abort', leave);
    try {
      if (gone.aborted) throw new ClientGone();
      return await this.inject({ ...request, signal: waiting.signal });
    } catch (error) {
      throw gone.aborted ? new ClientGone() : error;
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }
}

/** Undefined for what does not exist, or cannot have this name. */
export async function ifThere<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  return await asked.catch((error: unknown) => {
    if (error instanceof Refused && [400, 404].includes(error.status)) return undefined;
    throw error;
  });
}

/** Characters of an answer that a page shows: it is in memory as a whole, several times. */
const MOST = 8_000_000;
export const TOO_LARGE = 413;

const PLACEHOLDER = /:([a-z]\w*)/gi;

/** A path or text with values in place of `:name`. */
export function filled(text: string, values: SentKeys, written = (value: string) => value): string {
  return text.replace(PLACEHOLDER, (_, name: string) => written(String(values[name] ?? '')));
}

/** A segment of a path. */
function segment(value: string): string {
  // It would lead to another path.
  if (/^\.{0,2}$/.test(value)) throw new Refused(404, `“${value}”: expected the name or id of something`);
  return encoded(value);
}

/** Half of a surrogate pair, which JSON may have, cannot be encoded. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The path with its keys, in the notation of the API: `/ops/1.0/log;type=ProductListed;limit=3`. */
function addressOf(path: string, keys: SentKeys): string {
  const inPath = new Set([...path.matchAll(PLACEHOLDER)].map(([, name]) => name));
  const written = Object.entries(keys).map(([name, value]) => {
    const values = [value ?? ''].flat().filter((one) => one !== '');
    if (values.length === 0 || inPath.has(name)) return '';
    return `;${name}=${values.map((one) => encoded(String(one))).join(',')}`;
  });
  // Without a literal semicolon an encoded one would separate keys (`docs/decisions.md#a2`); `.json` would be an extension.
  return filled(path, keys, segment) + (written.join('') || ';');
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
