/**
 * Every setting there is. Each is an environment variable and a flag (`DATA_DIR`, `--data-dir`); flags win. What
 * its value must look like is in `config.ts`; `docs/settings.md` is made from this table.
 */
export interface Setting {
  /** As it would be given; absent: not set. */
  readonly default?: string;
  readonly description: string;
  /** Only for processes that serve. */
  readonly serving?: boolean;
}

export const SETTINGS = {
  DATA_DIR: { default: './data', description: 'Folder of everything that the embedded engines keep.' },
  EVENT_LOG: {
    default: 'sqlite:',
    description: 'Event log: `sqlite:` is a file in the data folder, `esdb://host:2113` an EventStoreDB.',
  },
  READ_STORE: {
    default: 'sqlite:',
    description:
      'Read store: `sqlite:` is files in the data folder, `https://host:9200/prefix` an Elasticsearch.',
  },
  READ_STORE_API_KEY: { description: 'API key of the Elasticsearch, in place of a user in its URL.' },
  LOG_LEVEL: {
    default: 'info',
    description: 'Least severe level that is logged: trace, debug, info, warn, error, fatal or silent.',
  },
  ESDB_PORT: {
    description: 'Port of this machine at which clients of EventStoreDB can read the log; by default none.',
    serving: true,
  },
  HOST: { default: '127.0.0.1', description: 'Address to listen at.', serving: true },
  PORT: { default: '3000', description: 'Port to listen at; 0 takes a free one.', serving: true },
  VENDOR: { default: 'affilog', description: 'Name in the namespaces of XML documents.', serving: true },
  BASE_URL: {
    description: 'What clients reach this service by; by default `http://HOST:PORT`, never the Host header.',
    serving: true,
  },
  TRACKER_URL: {
    default: 'https://pdt.affilog.example',
    description: 'What tracker links of products begin with.',
    serving: true,
  },
  CLICK_URL: {
    default: 'https://clk.affilog.example',
    description: 'What tracker links of vouchers begin with.',
    serving: true,
  },
  MAX_BODY: {
    default: '1GB',
    description: 'Largest request body: bytes, or with KB, MB or GB (of 1024).',
    serving: true,
  },
  PRICE_HISTORY: {
    default: 'asked',
    description:
      '`asked`: prices of the past on request; `always`: the current entry without being asked, too.',
    serving: true,
  },
  SEARCH_TIME: {
    default: '5s',
    description: 'Time that a search may take in the read store, such as 500ms or 5s; then it is refused.',
    serving: true,
  },
  DOWNLOAD_SPACE: {
    default: '10GB',
    description: 'Space on disk that downloads under way may take together.',
    serving: true,
  },
  DOWNLOAD_RATE: {
    default: '10KB',
    description:
      'Bytes a second that a client has to take of a download or a list, before compression, or be dropped.',
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
  return {
    description: `Requests a minute that a token for ${system} may make; by default any number.`,
    serving: true,
  };
}

/** `--data-dir` for `DATA_DIR`. */
export function flagOf(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

/** The table as Markdown: `docs/settings.md`. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting: Setting = SETTINGS[name];
    const value = setting.default === undefined ? '' : `\`${setting.default}\``;
    return [`\`${name}\``, `\`${flagOf(name)}\``, value, setting.description];
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
    'Environment variables; flags of the same meaning win. `affilog settings` prints this table.',
    '',
    ...lines.map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n');
}
