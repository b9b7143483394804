import { closeSync, openSync, readSync } from 'node:fs';
import { NamedError } from '../kernel/fault';

/**
 * All settings. Each is an environment variable and a flag (`DATA_DIR`, `--data-dir`); flags win. `config.ts` validates
 * the values. `docs/settings.md` is generated from this table.
 */
export interface Setting {
  /** The default as text; absent: not set. */
  readonly default?: string;
  readonly description: string;
  /** Only used by `affilog serve`. */
  readonly serving?: boolean;
  /** Never printed. */
  readonly secret?: boolean;
  /** It is, or may contain, a secret: `@file` reads it from a file, `@@` begins a value that begins with `@`. */
  readonly fromFile?: boolean;
}

export const SETTINGS = {
  DATA_DIR: { default: './data', description: 'Data folder of the embedded engines.' },
  EVENT_LOG: {
    default: 'sqlite:',
    description: 'Event log: `sqlite:` for a file in the data folder, `esdb://host:2113` for EventStoreDB.',
    fromFile: true,
  },
  READ_STORE: {
    default: 'sqlite:',
    description:
      'Read store: `sqlite:` for files in the data folder, `https://host:9200/prefix` for Elasticsearch.',
    fromFile: true,
  },
  READ_STORE_API_KEY: {
    description: 'API key for Elasticsearch, instead of a user in its URL.',
    secret: true,
    fromFile: true,
  },
  ROLLBACK_WITHIN: {
    default: '24h',
    description:
      'How long the former generation of a read model is kept, and updated, after another has taken its place, so that ' +
      '`affilog projections rollback` can make it live again: from 0h (it is dropped at once) to 720h.',
  },
  LOG_LEVEL: {
    default: 'info',
    description: 'Lowest level to log: trace, debug, info, warn, error, fatal or silent.',
  },
  LOG_FORMAT: {
    description:
      '`json`: one JSON object per log line; `pretty`: text for people. Default: `pretty` on a terminal, ' +
      'otherwise `json`.',
    serving: true,
  },
  ESDB_PORT: {
    description: 'Local port that serves the log to EventStoreDB clients, read-only. Default: none.',
    serving: true,
  },
  HOST: { default: '127.0.0.1', description: 'Address to listen on.', serving: true },
  PORT: { default: '3000', description: 'Port to listen on; 0 picks a free one.', serving: true },
  METRICS_PORT: {
    description:
      'Local port that serves the metrics of the process at `/metrics`, without a token. Default: none; with an OPS token ' +
      'they are at `/ops/1.0/metrics`.',
    serving: true,
  },
  TRACES: {
    description:
      'Sends OpenTelemetry traces over OTLP/HTTP: to a collector at a URL such as `http://127.0.0.1:4318`, or, with `otlp`, as ' +
      'the variables `OTEL_EXPORTER_OTLP_…` say. Default: none.',
    serving: true,
  },
  VENDOR: { default: 'affilog', description: 'Vendor name in XML namespaces.', serving: true },
  BASE_URL: {
    description: 'Public URL of the service. Default: `http://HOST:PORT`, never the Host header.',
    serving: true,
  },
  TRACKER_URL: {
    default: 'https://pdt.affilog.example',
    description: 'Base URL of product tracker links.',
    serving: true,
  },
  CLICK_URL: {
    default: 'https://clk.affilog.example',
    description: 'Base URL of voucher tracker links.',
    serving: true,
  },
  MAX_BODY: {
    default: '1GB',
    description: 'Maximum size of a request body in bytes, or with KB, MB or GB (powers of 1024).',
    serving: true,
  },
  BODY_MEMORY: {
    default: '256MB',
    description:
      'Memory for all request bodies that are being received or processed, estimated with what is made of them; one ' +
      'token has at most half of it, and one large body at a time may use more. At least 200MB.',
    serving: true,
  },
  BODY_SPACE: {
    default: '10GB',
    description:
      'Disk space for all products that are being received, fetched or loaded; one token, and all fetches together, ' +
      'have at most half of it, so it should be twice `MAX_BODY`. At least 1MB.',
    serving: true,
  },
  MAX_CONNECTIONS: {
    default: '10000',
    description:
      'Maximum number of open connections, at least 2. From three quarters of it on, those that wait for a next ' +
      'request are closed.',
    serving: true,
  },
  PRICE_HISTORY: {
    default: 'asked',
    description:
      '`asked`: price history on request only; `always`: every offer also contains the current entry, which many ' +
      'deployed clients need.',
    serving: true,
  },
  SEARCH_ALL_FEEDS: {
    default: 'false',
    description:
      '`true`: a search of products without `fid` covers all feeds that the caller may search, as some deployed ' +
      'clients expect; `false`: it is refused.',
    serving: true,
  },
  SEARCH_TIME: {
    default: '5s',
    description: 'Time limit of a search in the read store, such as 500ms or 5s.',
    serving: true,
  },
  SEARCH_CACHE: {
    default: '32MB',
    description:
      'Memory for what searches read of the search indexes of the embedded read store, of all threads for queries.',
    serving: true,
  },
  DOWNLOAD_SPACE: {
    default: '10GB',
    description:
      'Disk space for all running downloads; one token has at most half of it, and one large feed at a time what is ' +
      'free, so it should be twice the largest feed in XML.',
    serving: true,
  },
  DOWNLOAD_RATE: {
    default: '10KB',
    description:
      'Minimum rate at which a client must read a download or a list, in bytes per second before compression. ' +
      'Slower clients are disconnected.',
    serving: true,
  },
  BACKUP_DIR: {
    description:
      'Folder below which `POST /ops/1.0/backups` writes backups, best on another disk. Default: none, so it is refused.',
    serving: true,
  },
  NOTIFY_KEY: {
    description:
      'Key from which the secrets of subscriptions are derived, at least 32 characters; all servers of an ' +
      'installation need the same. Default: the file `notify.key` in the data folder, created when needed.',
    serving: true,
    secret: true,
    fromFile: true,
  },
  NOTIFY_KEEP: {
    default: '30d',
    description: 'How long messages and their attempts are kept, from 7d to 365d.',
    serving: true,
  },
  NOTIFY_RATES: {
    description:
      'File or URL with exchange rates of the European Central Bank, as XML or CSV. Default: none, so amounts are ' +
      'not converted.',
    serving: true,
    fromFile: true,
  },
  NOTIFY_ALLOW: {
    description:
      'Addresses that are not public and may be notified, or be fetched from, nevertheless, such as ' +
      '`10.1.0.0/16, 127.0.0.1:4000`. ' +
      'Default: none, with `--demo` `127.0.0.1:4000`.',
    serving: true,
  },
  RATE_LIMIT_PRODUCTS: limitOf('PRODUCTS'),
  RATE_LIMIT_VOUCHERS: limitOf('VOUCHERS'),
  RATE_LIMIT_CONVERSIONS: limitOf('CONVERSIONS'),
  RATE_LIMIT_CLAIMS: limitOf('CLAIMS'),
  RATE_LIMIT_OPS: limitOf('OPS'),
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

function limitOf(system: string): { readonly description: string; readonly serving: true } {
  return { description: `Requests per minute for each ${system} token. Default: no limit.`, serving: true };
}

/** `--data-dir` for `DATA_DIR`. */
export function flagOf(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

/** `dataDir` for `DATA_DIR`: in the configuration, and Commander's name of the flag. */
export function camelCase(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The description, with how to keep a secret out of the list of processes. */
export function describedSetting(name: SettingName): string {
  const { description, fromFile }: Setting = SETTINGS[name];
  return fromFile === true ? `${description} \`@FILE\` reads this value from a file.` : description;
}

/** The value in force: flags win over the environment, the environment over the default; empty values are ignored. */
export function settingInForce(
  name: SettingName,
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Partial<Record<SettingName, string>>>,
): { readonly value: string | undefined; readonly source: 'flag' | 'environment' | 'default' } {
  const setting: Setting = SETTINGS[name];
  const given = [
    { value: flags[name], source: 'flag' },
    { value: environment[name], source: 'environment' },
  ] as const;
  return given.find(({ value }) => value?.trim()) ?? { value: setting.default, source: 'default' };
}

/** A text without the user and password of a URL in it. A password that is not encoded may contain `/` and `@`. */
export function withoutPassword(value: string): string {
  return value.replace(/:\/\/.*@/, '://***@');
}

/** The table as Markdown: `docs/settings.md`. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting: Setting = SETTINGS[name];
    const value = setting.default === undefined ? '' : `\`${setting.default}\``;
    return [`\`${name}\``, `\`${flagOf(name)}\``, value, describedSetting(name)];
  });
  const table = [['Variable', 'Flag', 'Default', 'Meaning'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
  lines.splice(
    1,
    0,
    widths.map((width) => '-'.repeat(width)),
  );
  return [
    '# Settings',
    '',
    'Each setting is an environment variable and a flag; flags win. `affilog settings` prints the values in force ' +
      'and where each comes',
    'from, `affilog settings --markdown` this page.',
    '',
    'Other users of a machine see the flags of its processes (`ps`): give secrets, and URLs with a password, by the ' +
      'environment or by',
    '`@FILE`, such as `--notify-key @/run/secrets/notify-key` or `EVENT_LOG=@/run/secrets/event-log`. White space ' +
      'at the ends of the file',
    'is ignored. Write `@@` for a value that itself begins with `@`.',
    '',
    ...lines.map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n');
}

/** A file with a secret cannot be used; the message names the setting and the file. */
class UnusableFile extends NamedError {}

/** Most bytes of a file with a secret. */
const MOST = 64 * 1024;

/**
 * A value that may be secret: as it is, or with `@file` the content of the file, without white space at its ends. So it
 * is neither in the list of processes nor in the environment (`docs/decisions.md#x99`). A value that begins with `@`
 * has another one before it. `name`: of its setting, for errors. Raises `UnusableFile`.
 */
export function secretValue(value: string, name: string): string {
  if (!namesFile(value)) return value.replace(/^@@/, '@');
  const file = value.slice(1);
  const content = contentOf(file, name).toString('utf8').trim();
  if (content === '') throw new UnusableFile(`${name}: the file ${file} is empty: expected the value in it`);
  return content;
}

export function namesFile(value: string): boolean {
  return /^@(?!@)/.test(value);
}

function contentOf(file: string, name: string): Buffer {
  try {
    // A pipe has no size, and is read until its end.
    const opened = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(MOST + 1);
      for (let length = 0; ;) {
        const read = readSync(opened, buffer, length, buffer.length - length, null);
        length += read;
        if (length > MOST) throw new Error(`it has more than ${MOST} bytes`);
        if (read === 0) return buffer.subarray(0, length);
      }
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    const { message: reason } = error as Error;
    throw new UnusableFile(
      `${name}: the file ${file} cannot be read: ${reason}. A value that begins with @ names a file: write @@ for a ` +
        'value that itself begins with @',
    );
  }
}
