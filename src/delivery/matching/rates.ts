import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Message } from '../../domain/deliveries/delivery-events';
import { NamedError } from '../../kernel/fault';
import { type Decider, execute } from '../../kernel/decider';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';
import { repeatEvery, Troubles } from '../../runtime/leader';
import { NotParsable, utf8Text } from '../../wire/bytes';
import { csvRows } from '../../wire/csv/rows';
import { isCurrency } from '../../wire/iso-codes';
import { decimalsOf } from '../../wire/record/minor-units';
import { readXml } from '../../wire/xml/read';

/**
 * Exchange rates, in the stream `exchange-rates` (`docs/decisions.md#n12`).
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export interface RatesEvent {
  readonly type: 'ExchangeRatesPublished';
  readonly data: PublishedRates & { readonly at: string };
}

export interface PublishedRates {
  /** `2026-01-05`: the day that the rates are of. */
  readonly day: string;
  /** By ISO 4217 code: what a euro costs. */
  readonly rates: Readonly<Record<string, number>>;
}

/** The stream is `exchange-rates`: `streamOf` of this category and id. */
const [CATEGORY, ID] = ['exchange', 'rates'] as const;
export const RATES_ID = ID;
export const RATES_STREAM = `${CATEGORY}-${ID}`;

/** Rates that are known already, or older than these, change nothing. */
export const ratesDecider: Decider<RatesEvent['data'], PublishedRates | undefined, RatesEvent> = {
  category: CATEGORY,
  initial: undefined,
  supersedes: hasRates,
  decide: ({ at, day, rates }, known) => {
    if (known !== undefined && (day < known.day || isDeepStrictEqual({ day, rates }, known))) return [];
    return [{ type: 'ExchangeRatesPublished', data: { at, day, rates } }];
  },
  evolve: (known, event) => (hasRates(event) ? { day: event.data.day, rates: event.data.rates } : known),
};

/** False for an event of another program without rates. */
export function hasRates({ data }: { readonly data: object }): boolean {
  const { day, rates } = data as { readonly day?: unknown; readonly rates?: unknown };
  return typeof day === 'string' && typeof rates === 'object' && rates !== null;
}

/** An exchange of one currency for another. */
export interface Conversion extends NonNullable<Message['conversion']> {
  /** An amount of `from` in `to`: rounded half away from zero to the minor unit of `to`, without any other rounding. */
  readonly convert: (amount: number) => number;
}

/** Undefined if there is no rate for one of the currencies, or nothing to convert. */
export function conversionOf(
  published: PublishedRates | undefined,
  from: string,
  to: string,
): Conversion | undefined {
  const [bought, sold] = [rateOf(published, to), rateOf(published, from)];
  if (published === undefined || bought === undefined || sold === undefined || from === to) return undefined;
  const [up, down] = [decimalOf(bought), decimalOf(sold)];
  const decimals = decimalsOf(to);
  const convert = (amount: number): number => {
    const { digits, scale } = decimalOf(amount);
    const units = rounded(
      10n ** BigInt(decimals) * digits * up.digits * 10n ** BigInt(down.scale),
      down.digits * 10n ** BigInt(scale + up.scale),
    );
    return Number(units) / 10 ** decimals;
  };
  return { from, to, rate: bought / sold, day: published.day, convert };
}

function rateOf(published: PublishedRates | undefined, currency: string): number | undefined {
  if (currency === 'EUR') return 1;
  return published !== undefined && Object.hasOwn(published.rates, currency)
    ? published.rates[currency]
    : undefined;
}

/** A number as it is written: `digits` divided by 10 to the power of `scale`. */
function decimalOf(number: number): { readonly digits: bigint; readonly scale: number } {
  const [mantissa = '', exponent = '0'] = String(number).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** A fraction rounded half away from zero; the divisor is positive. */
function rounded(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -divisor : divisor;
  return (2n * dividend + half) / (2n * divisor);
}

interface RatesPublisherOptions {
  readonly report?: (failure: unknown) => void;
  /** How often to look whether there is something to do (ms). */
  readonly lookMs?: number;
}

/** How often the source is read (ms); a file also when it has changed. */
const INTERVAL_MS = 60 * 60 * 1000;
/** When it is read again after a failure (ms). */
const RETRY_MS = 5 * 60 * 1000;
const LOOK_MS = 5_000;
const SOURCE = 'rates';
/** Limits of one reading. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The source cannot be read, or its content cannot be used. The message has neither path nor host. */
class RatesFailure extends NamedError {
  constructor(why: string, cause?: unknown) {
    super(`the exchange rates cannot be read: ${why}; those that are known remain`, { cause });
  }
}

/**
 * Reads exchange rates from a file or URL, and appends them to the log when they have changed
 * (`docs/decisions.md#n12`). Several processes may do so at once.
 */
export class RatesPublisher {
  private readonly stopping = new AbortController();
  private readonly lookMs: number;
  private running: Promise<void> | undefined;
  /** The next reading, epoch ms. */
  private due = -Infinity;
  /** The file as it was last read. */
  private version: string | undefined;
  /** The digest of what was published, or was known already. */
  private published: string | undefined;
  private readonly troubles: Troubles;

  /** `source`: a path or an http(s) URL. */
  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    private readonly source: string,
    { report = () => undefined, lookMs = LOOK_MS }: RatesPublisherOptions = {},
  ) {
    this.lookMs = lookMs;
    this.troubles = new Troubles(report);
  }

  start(): void {
    this.running ??= repeatEvery(this.clock, this.lookMs, this.stopping.signal, () => this.turn());
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Why the rates may be out of date; undefined while they are not. */
  trouble(): string | undefined {
    return this.troubles.reason;
  }

  /** Reads the source if that is due, and publishes what has changed. Reports failures. */
  async turn(): Promise<void> {
    const now = this.clock.wall();
    const version = await this.currentVersion();
    // A clock that was set back must not keep it from being read.
    const isDue = now >= this.due || this.due - now > INTERVAL_MS || version !== this.version;
    if (!isDue) return;
    [this.due, this.version] = [now + INTERVAL_MS, version];
    try {
      await this.publish(now);
      this.troubles.clear(SOURCE);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.due = error instanceof EngineUnavailable ? now : now + RETRY_MS;
      const failure = error instanceof UnusableRates ? new RatesFailure(error.message) : error;
      this.troubles.add(SOURCE, failure, failure instanceof Error ? failure.message : String(failure));
    }
  }

  private async publish(now: number): Promise<void> {
    const bytes = await this.read();
    const digest = createHash('sha256').update(bytes).digest('hex');
    // Parsing the rates of all days takes half a second.
    if (digest === this.published) return;
    const read = ratesIn(bytes);
    const at = new Date(now).toISOString();
    if (Date.parse(read.day) > now + DAY_MS) throw new RatesFailure(`they are of ${read.day}, a day to come`);
    const { state } = await execute(this.clock, this.log, ratesDecider, RATES_ID, { at, ...read });
    if (state !== undefined && state.day > read.day)
      throw new RatesFailure(`they are of ${read.day}, and those of ${state.day} are known`);
    this.published = digest;
  }

  private async read(): Promise<Buffer> {
    const late = new AbortController();
    const timer = this.clock.timer(TIMEOUT_MS, () => late.abort());
    const signal = AbortSignal.any([this.stopping.signal, late.signal]);
    try {
      return await bytesOf(
        isUrl(this.source) ? await fetched(this.source, signal) : await opened(this.source, signal),
      );
    } catch (error) {
      if (error instanceof RatesFailure) throw error;
      throw new RatesFailure(signal.aborted ? 'it takes too long' : 'see the log', error);
    } finally {
      timer.cancel();
    }
  }

  /** Differs when the file has changed; undefined for a URL. */
  private async currentVersion(): Promise<string | undefined> {
    if (isUrl(this.source)) return undefined;
    const found = await stat(this.source).catch(() => undefined);
    return found && `${found.mtimeMs} ${found.size} ${found.ino}`;
  }
}

function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

async function fetched(url: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const { status, body } = await fetch(url, { signal });
  if (status !== 200 || body === null) throw new RatesFailure(`the server answers ${status}`);
  return body;
}

async function opened(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  // Opening a pipe would wait for its writer.
  if (!(await stat(path)).isFile()) throw new RatesFailure('NOTIFY_RATES is not a file');
  return createReadStream(path, { signal });
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new RatesFailure(`they are longer than ${MAX_BYTES} bytes`);
    read.push(chunk);
  }
  return Buffer.concat(read);
}

/** The content is not what the European Central Bank publishes. The message follows the name of the source. */
class UnusableRates extends NamedError {}

/**
 * The newest rates in a file of the European Central Bank, XML or CSV, of one day or of many. Currencies without a rate
 * (`N/A`), and those that ISO 4217 does not have any more, are left out. Raises `UnusableRates`: nothing is guessed.
 */
export function ratesIn(bytes: Buffer): PublishedRates {
  try {
    const isXml = bytes
      .subarray(0, 100)
      .toString('latin1')
      .trimStart()
      .replace(/^\xef\xbb\xbf/, '')
      .startsWith('<');
    const newest = isXml ? newestInXml(bytes) : newestInCsv(utf8Text(bytes).replace(/^\ufeff/, ''));
    if (newest === undefined) throw new UnusableRates('it has no day with rates');
    return { day: newest.day, rates: ratesOf(newest) };
  } catch (error) {
    throw error instanceof NotParsable ? new UnusableRates(error.message) : error;
  }
}

interface Day {
  readonly day: string;
  readonly rates: readonly (readonly [currency: string, rate: string])[];
}

function newestInXml(bytes: Buffer): Day | undefined {
  let newest: { day: string; rates: [string, string][] } | undefined;
  let isNewest = false;
  const reader = readXml({
    open: (name, { time, currency, rate }) => {
      if (name !== 'Cube') return;
      if (time !== undefined) {
        const day = dayIn(time);
        isNewest = newest === undefined || day > newest.day;
        if (isNewest) newest = { day, rates: [] };
      } else if (currency !== undefined && isNewest) newest?.rates.push([currency, rate ?? '']);
    },
    text: () => undefined,
    close: () => undefined,
  });
  reader.write(bytes);
  reader.end();
  return newest;
}

function newestInCsv(text: string): Day | undefined {
  let header: readonly string[] | undefined;
  let newest: { readonly day: string; readonly cells: readonly string[] } | undefined;
  for (const row of csvRows(text, ',')) {
    const cells = row.cells.map((cell) => cell.trim());
    if (header === undefined) {
      header = cells;
      if (header[0]?.toLowerCase() !== 'date')
        throw new UnusableRates('expected a first line that begins with Date');
      continue;
    }
    const day = dayIn(cells[0] ?? '');
    if (newest === undefined || day > newest.day) newest = { day, cells };
  }
  if (header === undefined || newest === undefined) return undefined;
  const { day, cells } = newest;
  if (cells.length !== header.length)
    throw new UnusableRates(`the line of ${day} has another number of cells`);
  const rates = header.map((currency, at) => [currency, cells[at] ?? ''] as const).slice(1);
  return { day, rates: rates.filter(([currency]) => currency !== '') };
}

const RATE = /^\d{1,9}(\.\d{1,10})?$/;

function ratesOf({ day, rates }: Day): Readonly<Record<string, number>> {
  const known = new Map<string, number>();
  for (const [currency, rate] of rates) {
    if (!/^[A-Z]{3}$/.test(currency)) throw new UnusableRates(`"${currency}" of ${day} is no currency`);
    if (!isCurrency(currency) || rate === 'N/A' || rate === '') continue;
    if (!RATE.test(rate) || Number(rate) === 0)
      throw new UnusableRates(`"${rate}" is no rate of ${currency} (${day})`);
    if (known.has(currency)) throw new UnusableRates(`${currency} has two rates on ${day}`);
    known.set(currency, Number(rate));
  }
  known.delete('EUR');
  if (known.size === 0) throw new UnusableRates(`it has no rates of ${day}`);
  return Object.fromEntries([...known].sort(([one], [other]) => (one < other ? -1 : 1)));
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

/** `2026-01-05`, or as in the daily CSV `05 January 2026`. */
function dayIn(text: string): string {
  const [, date, name = '', year] = /^(\d{1,2}) ([A-Z][a-z]+) (\d{4})$/.exec(text) ?? [];
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, '0');
  const day = date === undefined ? text : `${year}-${month}-${date.padStart(2, '0')}`;
  const instant = Date.parse(`${day}T00:00:00Z`);
  if (
    !/^\d{4}-\d\d-\d\d$/.test(day) ||
    Number.isNaN(instant) ||
    !new Date(instant).toISOString().startsWith(day)
  )
    throw new UnusableRates(`"${text.slice(0, 40)}" is no day`);
  return day;
}
