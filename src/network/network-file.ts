import { z } from 'zod';
import { isPosted } from '../wire/api/posted';
import { forbiddenCharacter } from '../wire/xml/write';
import { isCountry, isCurrency, isLanguage } from '../wire/iso-codes';
import { shortJson } from '../wire/json/write';
import { isWebUrl } from '../wire/url';
import { type Directory } from './directory';
import { ORGANISATION_KINDS, PROGRAM_STATUSES, SYSTEMS } from './events';
import { TOKEN, tokenHash } from './organisations';

/**
 * The network file: reference data as operators write it. An import leaves everything that the file does not contain
 * unchanged. `docs/network.schema.json` is generated from this.
 */

/** A message with the expected and the actual value; `abort` reports one fault per value. */
function expects(expected: string): { abort: true; error: (issue: { readonly input?: unknown }) => string } {
  return {
    abort: true,
    error: ({ input }) =>
      input === undefined ? `missing: expected ${expected}` : `expected ${expected}, got ${shortJson(input)}`,
  };
}

const id = z.int(expects('an integer of at least 1')).positive(expects('an integer of at least 1'));
/** A century: the end of a period has to be a date. */
const MOST_DAYS = 36_500;
const count = z
  .int(expects('a number of days, an integer of at least 0'))
  .nonnegative(expects('a number of days, an integer of at least 0'))
  .max(MOST_DAYS, expects(`at most ${MOST_DAYS} days`));
/** Answers contain names in XML too, so only characters that XML allows (Document 1, Conventions 9). */
const name = z
  .string(expects('a name'))
  .regex(/\S/, expects('a name'))
  .max(1000, 'expected at most 1000 characters')
  .refine(
    (text) => forbiddenCharacter(text) === undefined,
    expects('a name without characters that XML forbids'),
  );
const flag = z.boolean(expects('true or false'));
const webUrl = z
  .string(expects('an http or https URL'))
  .refine(isWebUrl, expects('an http or https URL'))
  .meta({ format: 'uri' });
const country = code(/^[A-Z]{2}$/, isCountry, 'a country code of ISO 3166-1 such as DE');
const currency = code(/^[A-Z]{3}$/, isCurrency, 'a currency code of ISO 4217 such as EUR');
const language = code(/^[a-z]{2}$/, isLanguage, 'a language code of ISO 639-1 such as de');
const categoryId = z
  .string(expects('a category id: an integer as a string'))
  .regex(/^[1-9]\d{0,14}$/, expects('a category id: an integer as a string'));

function oneOf(values: readonly string[]): string {
  return `one of ${values.join(', ')}`;
}

function code(pattern: RegExp, isKnown: (code: string) => boolean, expected: string): z.ZodType<string> {
  return z.string(expects(expected)).regex(pattern, expects(expected)).refine(isKnown, expects(expected));
}

const organisation = z.strictObject({
  id,
  kind: z.enum(ORGANISATION_KINDS, expects(oneOf(ORGANISATION_KINDS))),
  name,
});

/** Identified by organisation, system and site. Without `token`, one is generated unless there already is one. */
const token = z
  .strictObject({
    organisationId: id,
    system: z.enum(SYSTEMS, expects(oneOf(SYSTEMS))),
    siteId: id.exactOptional(),
    // The message does not contain the value: an invalid token may be a mistyped secret.
    token: z
      .string('expected 40 hexadecimal digits')
      .regex(TOKEN, 'expected 40 hexadecimal digits')
      .exactOptional(),
  })
  .transform(({ token: secret, ...entry }) => ({
    ...entry,
    ...(secret === undefined ? {} : { hash: tokenHash(secret) }),
  }));

const amount = z
  .number(expects('a number'))
  .nonnegative(expects('a number of at least 0'))
  .max(1e12, expects('a number below 1e12'));
const commission = z.union(
  [
    z.strictObject({ percent: amount }),
    z
      .strictObject({ fixed: amount.max(1e11).refine((major) => decimalsIn(major) !== undefined) })
      .transform(({ fixed: major }) => {
        const decimals = decimalsIn(major) ?? 2;
        const fixed = Math.round(major * 10 ** decimals);
        return decimals === 2 ? { fixed } : { fixed, decimals };
      }),
  ],
  expects('{"percent": number} or {"fixed": number with the decimals of the currency}'),
);

/** How many decimals an amount is stored with: those of the currency are checked with the program. */
function decimalsIn(major: number): number | undefined {
  return [2, 3, 4].find((decimals) => Math.round(major * 10 ** decimals) / 10 ** decimals === major);
}

const conversionEvent = z.strictObject({
  id,
  name,
  kind: z.enum(['sale', 'lead'], expects('sale or lead')),
  pendingDays: count,
  /** At the end of the pending period transactions are denied rather than approved. */
  autoDeny: flag.exactOptional(),
  inquiry: flag.default(false),
  commission: commission.exactOptional(),
});

const program = z.strictObject({
  id,
  organisationId: id,
  name,
  country,
  currency,
  logoUrl: webUrl.nullable().default(null),
  /** If absent: unchanged, initially active. */
  status: z.enum(PROGRAM_STATUSES, expects(oneOf(PROGRAM_STATUSES))).exactOptional(),
  acceptsClaims: flag.default(false),
  daysToAutoApprove: count.nullable().default(null),
  /** Of a closed program: its paused transactions are validated rather than deleted. */
  invoicesPaid: flag.exactOptional(),
  events: z.array(conversionEvent, expects('a list')).default([]),
});

const site = z.strictObject({ id, organisationId: id, name, url: webUrl });

const connection = z.strictObject({ siteId: id, programId: id });

const feed = z.strictObject({
  id,
  programIds: z.array(id, expects('a list of program ids')).min(1, 'expected at least one program'),
  name,
  language,
  active: flag.default(true),
  visible: flag.default(true),
  secret: flag.default(false),
  sendToNewPF: flag.default(true),
});

const category = z.strictObject({
  id: categoryId,
  parentId: categoryId.nullable().default(null),
  names: z
    .record(language, name, expects('an object: language code -> name'))
    .refine((names) => names['en'] !== undefined, 'expected an English name ("en")'),
});

const mapping = z.strictObject({ feedId: id, name, categoryId });

const LISTS = {
  organisations: listOf(organisation),
  tokens: listOf(token),
  programs: listOf(program),
  sites: listOf(site),
  connections: listOf(connection),
  feeds: listOf(feed),
  categories: listOf(category),
  mappings: listOf(mapping),
};

function listOf<Entry extends z.ZodType>(entry: Entry): z.ZodDefault<z.ZodArray<Entry>> {
  return z.array(entry, expects('a list')).default([]);
}

const NETWORK_FILE = z.strictObject({ $schema: z.string().exactOptional(), ...LISTS });

/** The content of a file as written. */
export type NetworkFile = z.input<typeof NETWORK_FILE>;

/** The content of a file with defaults applied, tokens as hashes and money in minor units. */
export type Network = Readonly<Omit<z.output<typeof NETWORK_FILE>, '$schema'>>;
export type ListName = keyof Network;
export const LIST_NAMES = Object.keys(LISTS) as readonly ListName[];

/** `path` is the location: `$.feeds[2].language`. */
export interface NetworkFault {
  readonly path: string;
  readonly message: string;
}

export interface ParsedNetwork {
  /** The well-formed entries. */
  readonly network: Network;
  /** Path in the file of each entry of `network`. */
  readonly paths: ReadonlyMap<object, string>;
  readonly faults: readonly NetworkFault[];
  /** Malformed entries that have an id, such as `feeds 22`: references to them are not faults. */
  readonly faulty: ReadonlySet<string>;
}

/** Parses a file entry by entry: returns the well-formed entries and the faults of the others. */
export function parseNetwork(json: unknown): ParsedNetwork {
  const issues = NETWORK_FILE.safeParse(json, { reportInput: true }).error?.issues ?? [];
  const malformed = new Set(issues.map(({ path }) => pathOf(path.slice(0, 2))));
  const valid: Partial<Record<ListName, readonly { entry: unknown; path: string }[]>> = {};
  const faulty = new Set<string>();
  for (const list of LIST_NAMES) {
    const entries = entriesOf(json, list).map((entry, index) => ({ entry, path: pathOf([list, index]) }));
    valid[list] = entries.filter(({ path }) => !malformed.has(path));
    for (const { entry, path } of entries)
      if (malformed.has(path) && isPosted(entry)) faulty.add(`${list} ${String(entry['id'])}`);
  }
  const lists = LIST_NAMES.map((list) => [list, valid[list]?.map(({ entry }) => entry)]);
  const network = NETWORK_FILE.parse(Object.fromEntries(lists));
  const paths = new Map<object, string>();
  for (const list of LIST_NAMES)
    network[list].forEach((entry, index) => paths.set(entry, valid[list]?.[index]?.path ?? '$'));
  return { network, paths, faults: issues.flatMap(toFaults), faulty };
}

function entriesOf(json: unknown, list: ListName): readonly unknown[] {
  const entries = isPosted(json) ? json[list] : undefined;
  return Array.isArray(entries) ? entries : [];
}

function toFaults(issue: z.core.$ZodIssue): readonly NetworkFault[] {
  const { path, message } = issue;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: pathOf([...path, key]), message: 'unknown key' }));
    case 'invalid_key':
      return issue.issues.map((inner) => ({ path: pathOf(path), message: inner.message }));
    default:
      return [{ path: pathOf(path), message }];
  }
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => text + (typeof key === 'number' ? `[${key}]` : `.${String(key)}`),
    '$',
  );
}

/** The JSON Schema of network files, as text: `docs/network.schema.json`. */
export function networkSchema(): string {
  const schema = z.toJSONSchema(NETWORK_FILE, { io: 'input' });
  return `${JSON.stringify({ title: 'Affilog network file', ...schema }, null, 2)}\n`;
}

/**
 * The reference data as a network file whose import changes nothing. It has no list of tokens: only their hashes are
 * known. Connections and mappings whose target was removed are left out: they have no effect.
 */
export function exportNetwork({ organisations, programs, categories }: Directory): NetworkFile {
  const sites = sorted(programs.allSites());
  const feeds = sorted(programs.allFeeds());
  return {
    organisations: sorted(organisations.all()).map(({ id, kind, name }) => ({ id, kind, name })),
    programs: sorted(programs.all()).map((program) => ({
      id: program.id,
      organisationId: program.organisationId,
      name: program.name,
      country: program.country,
      currency: program.currency,
      logoUrl: program.logoUrl,
      status: program.status,
      acceptsClaims: program.acceptsClaims,
      daysToAutoApprove: program.daysToAutoApprove,
      ...(program.invoicesPaid === undefined ? {} : { invoicesPaid: program.invoicesPaid }),
      events: program.events.map(({ commission, ...event }) => ({
        ...event,
        // Money is in minor units here, in the file as operators write it.
        ...(commission === undefined
          ? {}
          : {
              commission:
                'fixed' in commission
                  ? { fixed: commission.fixed / 10 ** (commission.decimals ?? 2) }
                  : commission,
            }),
      })),
    })),
    sites: sites.map(({ id, organisationId, name, url }) => ({ id, organisationId, name, url })),
    connections: sites.flatMap(({ id: siteId }) =>
      [...programs.connectionsOf(siteId)]
        .filter((programId) => programs.get(programId) !== undefined)
        .sort((a, b) => a - b)
        .map((programId) => ({ siteId, programId })),
    ),
    feeds: feeds.map(({ id, programIds, name, language, active, visible, secret, sendToNewPF }) => ({
      id,
      programIds: [...programIds],
      name,
      language,
      active,
      visible,
      secret,
      sendToNewPF,
    })),
    categories: sorted(categories.all()).map(({ id, parentId, names }) => ({
      id,
      parentId,
      names: { ...names },
    })),
    mappings: feeds.flatMap(({ id: feedId }) =>
      [...categories.mappingsOf(feedId)]
        .filter(([, categoryId]) => categories.get(categoryId) !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, categoryId]) => ({ feedId, name, categoryId })),
    ),
  };
}

function sorted<Entity extends { readonly id: number | string }>(
  entities: Iterable<Entity>,
): readonly Entity[] {
  return [...entities].sort((a, b) => Number(a.id) - Number(b.id));
}
