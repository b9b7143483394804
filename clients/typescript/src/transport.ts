/** What tokens are made for: an operation needs one of its own system. */
export type System = 'PRODUCTS' | 'VOUCHERS' | 'CONVERSIONS' | 'CLAIMS';

export interface AffilogOptions {
  /** Address of the server: `https://api.example`. */
  readonly url: string;
  /** The token, or that of each system. It is sent in the header `Authorization`. */
  readonly token: string | Readonly<Partial<Record<System, string>>>;
  readonly fetch?: typeof fetch;
  /** How often a request is repeated at most; 4 by default. */
  readonly retries?: number;
  /** Milliseconds after which an attempt without an answer has failed; 60,000 by default. */
  readonly timeout?: number;
  /** Ends all requests. */
  readonly signal?: AbortSignal;
}

/** An error of an answer; `sourceProductId` names the product that it concerns. */
export interface ListedError {
  readonly code: string;
  readonly message: string;
  readonly sourceProductId?: string;
}

/** An answer that is no success. */
export class AffilogError extends Error {
  override readonly name = 'AffilogError';
  /** Of the first error, such as `PF_240`; the status if the answer is no error list. */
  readonly code: string;

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** All errors of the answer, at least one. */
    readonly errors: readonly [ListedError, ...ListedError[]],
    /** `X-Request-Id` identifies the request in the log of the server. */
    readonly headers: Headers,
  ) {
    const [{ code, message }] = errors;
    super(message);
    this.code = code;
  }

  /** The key or field that the message begins with: `fid` of `fid is missing: …`. */
  get field(): string | undefined {
    return /^([a-z]\w*(?:(?:\.|\[)[\w.[\]]+)?)(?:=|:| is | has |: )/.exec(this.message)?.[1];
  }
}

/** Keys by their names; several values are a list. */
export type Query = object;

export interface Sent {
  readonly system: System;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its parameters: `/1.0/vouchers/7`. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON, or as it is if it is a `Blob`. */
  readonly body?: unknown;
  /** The body, in parts; it can be sent only once. */
  readonly stream?: ReadableStream<Uint8Array>;
  /** Media type of what is no JSON. */
  readonly type?: string;
  /** A POST that changes nothing the second time: it is sent without `Idempotency-Key`. */
  readonly isIdempotent?: true;
}

/** Milliseconds before the first repetition, and at most. Each one takes twice as long, and between half of it and all. */
const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;

/**
 * Sends requests, and repeats those that cannot have two effects: reads, PUT, and POST with an `Idempotency-Key`, when
 * the connection or the server has failed; a DELETE and a body that is a stream only when the server has refused them.
 */
export class Transport {
  private readonly options: Required<Omit<AffilogOptions, 'signal'>> & Pick<AffilogOptions, 'signal'>;

  constructor(options: AffilogOptions) {
    this.options = {
      retries: 4,
      timeout: 60_000,
      fetch: (input, init) => fetch(input, init),
      ...options,
      url: options.url.replace(/\/+$/, ''),
    };
  }

  /** Raises `AffilogError` for an answer that is no success, and what `fetch` raises. */
  async send(sent: Sent): Promise<Response> {
    const key = sent.method === 'POST' && !sent.isIdempotent ? crypto.randomUUID() : undefined;
    for (let attempt = 1; ; attempt += 1) {
      const mayRepeat = attempt <= this.options.retries && sent.stream === undefined;
      let answer: Response;
      try {
        answer = await this.attempt(sent, key);
      } catch (error) {
        if (!mayRepeat || sent.method === 'DELETE' || this.options.signal?.aborted === true) throw error;
        await this.delay(attempt, undefined);
        continue;
      }
      if (answer.ok) return answer;
      if (!mayRepeat || !isWorthRepeating(sent, answer)) throw await errorIn(answer);
      await answer.body?.cancel();
      await this.delay(attempt, answer.headers.get('Retry-After') ?? undefined);
    }
  }

  private async attempt(sent: Sent, key: string | undefined): Promise<Response> {
    const { fetch, timeout, signal } = this.options;
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new Error(`no answer within ${timeout} ms`));
    }, timeout);
    try {
      return await fetch(this.urlOf(sent), {
        method: sent.method,
        headers: this.headersOf(sent, key),
        signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
        ...bodyOf(sent),
      });
    } finally {
      clearTimeout(timer);
    }
  }

  private urlOf({ path, query = {} }: Sent): string {
    const keys = new URLSearchParams();
    for (const [name, value] of Object.entries(query) as [string, unknown][])
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined) keys.append(name, String(one));
    return `${this.options.url}${path}${keys.size === 0 ? '' : `?${keys.toString()}`}`;
  }

  private headersOf(
    { system, body, stream, type = 'application/json; charset=utf-8' }: Sent,
    key: string | undefined,
  ): Record<string, string> {
    const { token } = this.options;
    const own = typeof token === 'string' ? token : token[system];
    if (own === undefined) throw new TypeError(`token: expected one for ${system}`);
    return {
      Accept: 'application/json',
      Authorization: `Bearer ${own}`,
      ...(body === undefined && stream === undefined ? {} : { 'Content-Type': type }),
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    };
  }

  /** Waits as long as the server says, or longer each time. */
  private async delay(attempt: number, retryAfter: string | undefined): Promise<void> {
    const backOff = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
    const asked = Number(retryAfter) * 1000;
    const { signal } = this.options;
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', end);
          resolve();
        },
        asked >= 0 ? asked : backOff,
      );
      signal?.addEventListener('abort', end, { once: true });
    });
  }
}

/** What was not executed, and what has failed for a reason that passes. */
function isWorthRepeating({ method }: Sent, { status, headers }: Response): boolean {
  if (status === 429 || status === 503) return true;
  if (method === 'DELETE') return false;
  return status === 502 || status === 504 || (status !== 202 && headers.has('Retry-After'));
}

function bodyOf({ body, stream }: Sent): RequestInit {
  if (stream !== undefined) return { body: stream, duplex: 'half' } as RequestInit;
  if (body instanceof Blob) return { body };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

async function errorIn(answer: Response): Promise<AffilogError> {
  const text = await answer.text();
  const { status, statusText, headers } = answer;
  const other = { code: String(status), message: text.slice(0, 1000) || statusText };
  const [first = other, ...others] = errorsIn(text);
  return new AffilogError(status, [first, ...others], headers);
}

/** Those of an error list, or of a list of results; none if a text is neither. */
function errorsIn(text: string): readonly ListedError[] {
  try {
    const { errors } = JSON.parse(text) as { readonly errors?: readonly ListedError[] };
    return errors ?? [];
  } catch {
    return [];
  }
}
