import { z } from 'zod';
import { NamedError } from '../kernel/fault';
import { defined, type Defined } from '../kernel/values';
import { type System, SYSTEMS } from '../network/events';
import {
  camelCase,
  flagOf,
  secretValue,
  type Setting,
  SETTING_NAMES,
  settingInForce,
  type SettingName,
  SETTINGS,
  withoutPassword,
} from './settings';

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;

type ReadSettings = z.output<typeof SHAPES>;
type LimitName = `RATE_LIMIT_${System}`;

/**
 * The settings of a process (see `settings.ts`), read once and frozen: `dataDir` is `DATA_DIR`. Sizes are in bytes,
 * times in milliseconds, URLs without a trailing slash; what is not set and has no default is absent. `rateLimits`:
 * requests per minute for each token of a system.
 */
export type Config = Readonly<
  Defined<{ [Name in Exclude<SettingName, LimitName> as CamelCase<Name>]: ReadSettings[Name] }>
> & { readonly rateLimits: Readonly<Partial<Record<System, number>>> };

/** An invalid setting; the message is one line that names it. */
export class InvalidSetting extends NamedError {}

/**
 * Reads the settings from flags and environment; flags win, and empty values are ignored. Raises `InvalidSetting` and
 * `UnusableFile`.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Partial<Record<SettingName, string>>> = {},
): Config {
  const values = SETTING_NAMES.map((name) => {
    const { value, source } = settingInForce(name, environment, flags);
    const { fromFile }: Setting = SETTINGS[name];
    const isSecret = fromFile === true && value !== undefined;
    return [name, isSecret ? secretValue(value.trim(), source === 'flag' ? flagOf(name) : name) : value];
  });
  const { data, error } = SHAPES.safeParse(Object.fromEntries(values));
  if (data !== undefined) return Object.freeze(toConfig(data));
  const [issue] = error.issues;
  const name = SETTING_NAMES.find((setting) => setting === issue?.path[0]) ?? 'DATA_DIR';
  const origin = flags[name] === undefined ? name : flagOf(name);
  throw new InvalidSetting(`${origin}${issue?.message ?? ''}`);
}

/** What valid settings do that is hardly wanted, each in a line. */
export function warningsOf({ maxBody, bodySpace, downloadSpace }: Config): readonly string[] {
  const warnings: string[] = [];
  if (downloadSpace < USUAL_DOWNLOADS)
    warnings.push(
      `feeds that need more than ${downloadSpace} bytes cannot be downloaded, and seldom two at a time: that is ` +
        `DOWNLOAD_SPACE. Set it to twice the largest feed in XML, or to ${USUAL_DOWNLOADS} at least`,
    );
  const most = Math.floor(bodySpace / 2);
  if (maxBody > most)
    warnings.push(
      `products of more than ${most} bytes are refused, although MAX_BODY is ${maxBody}: a token has at most half of ` +
        `BODY_SPACE, which is ${bodySpace}. Set BODY_SPACE to ${2 * maxBody} or more, or MAX_BODY to ${most}`,
    );
  return warnings;
}

/** The URL at which clients reach a process that listens on `port` (`docs/decisions.md#a9`). */
export function baseUrlAt({ baseUrl, host }: Config, port: number): string {
  return baseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const UNITS: Readonly<Record<string, number>> = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

const text = z.string().trim();

const url = text
  .refine(
    (value) => /^https?:\/\/[^\s?#]+$/i.test(value) && URL.canParse(value),
    expects('an http or https URL'),
  )
  .transform((value) => value.replace(/\/+$/, ''));

const size = sizeFrom('1');
/** Half of this is what a usual list of 32 MiB needs, the largest body that is parsed in memory. */
const LEAST_MEMORY = '200MB';
/** Half of this is more than a product may have. */
const LEAST_SPACE = '1MB';
/** Half of this is what a download begins with. */
const USUAL_DOWNLOADS = 4 * 1024 ** 2;

const time = text
  .regex(/^[1-9]\d{0,6} ?m?s$/i, expects('a time such as 500ms or 5s'))
  .transform((value) => Number.parseInt(value, 10) * (/ms$/i.test(value) ? 1 : 1000));

const DAY_MS = 24 * 60 * 60 * 1000;

const keep = text
  .regex(/^\d{1,3} ?d$/i, expects('a number of days from 7d to 365d'))
  .transform((value) => Number.parseInt(value, 10))
  .pipe(z.number().min(7, expects('7d at least')).max(365, expects('365d at most')))
  .transform((days) => days * DAY_MS);

const rollback = text
  .regex(/^\d{1,3} ?h$/i, expects('a number of hours from 0h to 720h'))
  .transform((value) => Number.parseInt(value, 10))
  .pipe(z.number().max(720, expects('720h at most')))
  .transform((hours) => hours * 60 * 60 * 1000);

const limit = integer(1, 1_000_000_000).optional();

const SHAPES = z.object({
  DATA_DIR: text,
  // The messages omit the value, which may contain a password.
  EVENT_LOG: text.regex(/^(sqlite:$|esdb(\+discover)?:\/\/)/, ': expected sqlite: or esdb://...'),
  READ_STORE: text.regex(/^(sqlite:$|https?:\/\/)/, ': expected sqlite:, http://... or https://...'),
  READ_STORE_API_KEY: text.optional(),
  ESDB_PORT: integer(0, 65_535).optional(),
  ROLLBACK_WITHIN: rollback,
  LOG_LEVEL: oneOf(LOG_LEVELS),
  LOG_FORMAT: oneOf(['pretty', 'json']).optional(),
  HOST: text.regex(/^[\w.:-]+$/, expects('a host name or address')),
  PORT: integer(0, 65_535),
  METRICS_PORT: integer(0, 65_535).optional(),
  TRACES: z.union([z.literal('otlp'), url], expects('otlp, or an http or https URL')).optional(),
  VENDOR: text.regex(/^[a-z][a-z\d-]*$/, expects('a name of lower-case letters, digits and dashes')),
  BASE_URL: url.optional(),
  TRACKER_URL: url,
  CLICK_URL: url,
  MAX_BODY: size,
  BODY_MEMORY: sizeFrom(LEAST_MEMORY),
  BODY_SPACE: sizeFrom(LEAST_SPACE),
  // A request of a token needs another one that it leaves free.
  MAX_CONNECTIONS: integer(2, 1_000_000),
  PRICE_HISTORY: oneOf(['asked', 'always']),
  SEARCH_ALL_FEEDS: oneOf(['true', 'false']).transform((value) => value === 'true'),
  SEARCH_TIME: time,
  SEARCH_CACHE: sizeFrom('1MB'),
  DOWNLOAD_SPACE: size,
  DOWNLOAD_RATE: size,
  BACKUP_DIR: text.optional(),
  // The message omits the value.
  NOTIFY_KEY: text.min(32, ': expected at least 32 characters').optional(),
  NOTIFY_KEEP: keep,
  NOTIFY_RATES: text.optional(),
  NOTIFY_ALLOW: text.optional(),
  RATE_LIMIT_PRODUCTS: limit,
  RATE_LIMIT_VOUCHERS: limit,
  RATE_LIMIT_CONVERSIONS: limit,
  RATE_LIMIT_CLAIMS: limit,
  RATE_LIMIT_OPS: limit,
} satisfies Readonly<Record<SettingName, z.ZodType>>);

function toConfig(read: ReadSettings): Config {
  const isLimit = (name: string): boolean => name.startsWith('RATE_LIMIT_');
  const settings = Object.entries(read).filter(([name]) => !isLimit(name));
  const named = Object.fromEntries(settings.map(([name, value]) => [camelCase(name), value]));
  const limits = SYSTEMS.map((system) => [system, read[`RATE_LIMIT_${system}`]] as const);
  const rateLimits = Object.freeze(defined(Object.fromEntries(limits)));
  return { ...defined(named), rateLimits } as Config;
}

function sizeFrom(least: string): z.ZodType<number> {
  return text
    .regex(/^[1-9]\d{0,11} ?(KB|MB|GB)?$/i, expects('a size such as 1048576, 500MB or 1GB'))
    .refine((value) => bytesOf(value) >= bytesOf(least), expects(`${least} at least`))
    .transform(bytesOf);
}

function bytesOf(value: string): number {
  return Number.parseInt(value, 10) * (UNITS[value.replace(/[\d ]/g, '').toUpperCase()] ?? 1);
}

function oneOf<const Value extends string>(values: readonly Value[]): z.ZodType<Value> {
  return z.enum(values, expects(`one of ${values.join(', ')}`));
}

function integer(min: number, max: number): z.ZodType<number> {
  const error = expects(`an integer from ${min} to ${max}`);
  return text.regex(/^\d+$/, error).transform(Number).pipe(z.number().min(min, error).max(max, error));
}

function expects(expected: string): { abort: true; error: (issue: { readonly input?: unknown }) => string } {
  return { abort: true, error: ({ input }) => `=${withoutPassword(String(input))}: expected ${expected}` };
}
