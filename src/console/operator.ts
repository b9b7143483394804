import { type Readable } from 'node:stream';
import { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify';
import { ClientGone } from '../http/read-queue';
import { type OperationText, type Shape } from '../wire/api/description';
import { type Operation } from '../wire/api/openapi-operation';
import { type KeyTable } from '../wire/keys/keys';
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

/** NamedValues by the names of an operation's keys and of the parameters of its path. */
export type NamedValues = Readonly<Record<string, string | number | undefined>>;

/** An operation that answers something: the table of its answer is the type of what is read. */
export type AnsweringOperation<K extends Kind> = OperationText & { readonly answer: Shape<K> };

interface OperatorParts {
  readonly inject: FastifyInstance['inject'];
  /** How an operation is routed, and which keys it has. */
  readonly routeOf: (operation: OperationText) => Operation | undefined;
  readonly token: string;
  /** Ends operations that have not begun to answer, such as statements of SQL: they raise `ClientGone`. */
  readonly gone?: AbortSignal | undefined;
}

/**
 * What a page reads and changes: the operations under `/ops/1.0` that operators have over HTTP, called in this process
 * with the token of the session. So pages show and do what anybody's program can, within the same limits. Of the
 * values, an operation is sent those that it knows; of several in one, which commas separate, each.
 */
export class Operator {
  constructor(private readonly parts: OperatorParts) {}

  /** The answer of an operation. Raises `Refused`. */
  async get<K extends Kind>(
    operation: AnsweringOperation<K>,
    values: NamedValues = {},
  ): Promise<AnswerOf<K>> {
    return (await this.page(operation, values)).answer;
  }

  /** The answer, of how many items it is a page, and the cursor of the next one. Raises `Refused`. */
  async page<K extends Kind>(operation: AnsweringOperation<K>, values: NamedValues) {
    const { payload, headers } = await this.call(operation, values, { extension: '.json' });
    const { 'x-total-count': total, 'x-next-cursor': cursor } = headers;
    const answer = JSON.parse(payload) as AnswerOf<K>;
    return { answer, total: total === undefined ? undefined : Number(total), cursor: cursor?.toString() };
  }

  /** The lines of an answer, each JSON. Raises `Refused`. */
  async lines<Line>(operation: OperationText, values: NamedValues): Promise<readonly Line[]> {
    const { payload } = await this.call(operation, values);
    const lines = payload.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Line);
  }

  /** Raises `Refused`. */
  async change(operation: OperationText, values: NamedValues, body?: object): Promise<void> {
    await this.call(operation, values, { body });
  }

  /** Whether the server is ready: if not, it answers with the reason. */
  async health<Answer>(): Promise<Answer> {
    return JSON.parse((await this.send('GET', '/health/ready')).payload) as Answer;
  }

  private async call(
    operation: OperationText,
    values: NamedValues,
    { extension = '', body }: { readonly extension?: string; readonly body?: object | undefined } = {},
  ) {
    const route = this.parts.routeOf(operation);
    if (route === undefined) throw new Error(`no controller has the operation ${operation.id}`);
    const { method, path, keys } = route;
    const url = filled(path, values, segment) + extension + keysText(keys, values);
    const answer = await this.send(method, url, body);
    if (answer.statusCode >= 400) throw new Refused(answer.statusCode, messageIn(answer.payload));
    return answer;
  }

  private async send(method: string, url: string, body?: object) {
    const type = body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
    const answer = await this.answered({
      ...{ payloadAsStream: true, method: method as 'DELETE' | 'GET' | 'POST', url },
      headers: {
        authorization: `Bearer ${this.parts.token}`,
        accept: 'application/json, application/x-ndjson',
        ...type,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const { statusCode, headers } = answer;
    return { statusCode, headers, payload: await textOf(answer.stream(), url) };
  }

  private async answered(request: InjectOptions): Promise<LightMyRequestResponse> {
    const { gone, inject } = this.parts;
    if (gone === undefined) return await inject(request);
    // An answer that is being read must not be aborted: Fastify would fail.
    const waiting = new AbortController();
    const leave = (): void => waiting.abort();
    gone.addEventListener('abort', leave);
    try {
      if (gone.aborted) throw new ClientGone();
      return await inject({ ...request, signal: waiting.signal });
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

/** What is longer than a page can show is not read on. */
async function textOf(stream: Readable, url: string): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > MOST)
      throw new Refused(
        TOO_LARGE,
        `this is more than a page can show: ask for a part of it, or have a program read ${url}`,
      );
  }
  return text;
}

/** A path or text with values in place of `:name`. */
export function filled(text: string, values: NamedValues, written = (value: string) => value): string {
  return text.replace(/:([a-z]\w*)/gi, (_, name: string) => written(String(values[name] ?? '')));
}

/** A segment of a path. */
function segment(value: string): string {
  // It would lead to another path.
  if (/^\.{0,2}$/.test(value)) throw new Refused(404, `“${value}”: expected the name or id of something`);
  return encoded(value);
}

/** Half of a surrogate pair, which JSON may have, cannot be encoded. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The keys in the notation of the API: `;type=ProductListed;limit=3`. */
function keysText(table: KeyTable, values: NamedValues): string {
  const written = Object.entries(table).map(([name, { multiple }]) => {
    const value = String(values[name] ?? '');
    const each = multiple === true ? value.split(',').filter((one) => one !== '') : [value];
    return value === '' ? '' : `;${name}=${each.map(encoded).join(',')}`;
  });
  // Without a literal semicolon an encoded one would separate keys (`docs/decisions.md#a2`).
  return written.join('') || ';';
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
