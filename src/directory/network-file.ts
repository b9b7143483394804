import { z } from 'zod';
import { forbiddenCharacter } from '../wire/characters';
import { isCountry, isCurrency, isLanguage } from '../wire/iso-codes';
import { isWebUrl } from '../wire/web-url';
import { ORGANISATION_KINDS, PROGRAM_STATUSES, SYSTEMS } from './events';
import { TOKEN, tokenHash } from './organisations';

/**
 * The network file: reference data as operators write it. What a file leaves out stays as it is in the network;
 * `docs/network.schema.json` is made from this.
 */

/** Says what would have been accepted, and what came; one fault of a value is enough. */
function expects(what: string): { abort: true; error: (issue: { readonly input?: unknown }) => string } {
  return {
    abort: true,
    error: ({ input }) => (input === undefined ? `missing: ${what}` : `${shown(input)} is not ${what}`),
  };
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

const id = z.int(expects('a positive integer')).positive(expects('a positive integer'));
const count = z.int(expects('an integer number of days')).nonnegative(expects('an integer number of days'));
/** Names are answered in XML too, so they hold only what XML may (Document 1, Conventions 9). */
const name = z
  .string(expects('a name'))
  .regex(/\S/, expects('a name'))
  .max(1000, 'longer than 1000 characters')
  .refine((text) => forbiddenCharacter(text) === undefined, expects('a name of characters that XML admits'));
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

function code(pattern: RegExp, isKnown: (code: string) => boolean, what: string): z.ZodType<string> {
  return z.string(expects(what)).regex(pattern, expects(what)).refine(isKnown, expects(what));
}

const organisation = z.strictObject({
  id,
  kind: z.enum(ORGANISATION_KINDS, expects(ORGANISATION_KINDS.join(', '))),
  name,
});

/** Known by organisation, system and site; one without a `token` gets one, unless there is one already. */
const token = z
  .strictObject({
    organisationId: id,
    system: z.enum(SYSTEMS, expects(SYSTEMS.join(', '))),
    siteId: id.exactOptional(),
    // A faulty token is a secret all the same: it is not shown.
    token: z
      .string('a token is 40 hexadecimal digits')
      .regex(TOKEN, 'a token is 40 hexadecimal digits')
      .exactOptional(),
  })
  .transform(({ token: secret, ...entry }) => ({
    ...entry,
    ...(secret === undefined ? {} : { hash: tokenHash(secret) }),
  }));

const amount = z
  .number(expects('a number'))
  .nonnegative(expects('a positive number'))
  .max(1e12, expects('a number below 1e12'));
const commission = z.union(
  [
    z.strictObject({ percent: amount }),
    z.strictObject({
      fixed: amount
        .multipleOf(0.01, expects('an amount with at most two decimals'))
        .transform((major) => Math.round(major * 100)),
    }),
  ],
  expects('{"percent": number} or {"fixed": number with at most two decimals}'),
);

const conversionEvent = z.strictObject({
  id,
  name,
  kind: z.enum(['sale', 'lead'], expects('sale or lead')),
  pendingDays: count,
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
  /** Left out: as it is, at first active. */
  status: z.enum(PROGRAM_STATUSES, expects(PROGRAM_STATUSES.join(', '))).exactOptional(),
  acceptsClaims: flag.default(false),
  daysToAutoApprove: count.nullable().default(null),
  events: z.array(conversionEvent, expects('a list')).default([]),
});

const site = z.strictObject({ id, organisationId: id, name, url: webUrl });

const connection = z.strictObject({ siteId: id, programId: id });

const feed = z.strictObject({
  id,
  programIds: z.array(id, expects('a list of program ids')).min(1, 'a feed has at least one program'),
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
    .refine((names) => names['en'] !== undefined, 'the English name ("en") is missing'),
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

/** A file's content as it is written. */
export type NetworkFile = z.input<typeof NETWORK_FILE>;

/** A file's content with its defaults: tokens as hashes, money in minor units. */
export type Network = Readonly<Omit<z.output<typeof NETWORK_FILE>, '$schema'>>;
export type ListName = keyof Network;
export const LIST_NAMES = Object.keys(LISTS) as readonly ListName[];

/** What is wrong, and where: `$.feeds[2].language`. */
export interface NetworkFault {
  readonly path: string;
  readonly message: string;
}

export interface ShapedNetwork {
  /** The entries that have the shape. */
  readonly network: Network;
  /** Where in the file an entry of `network` stands. */
  readonly places: ReadonlyMap<object, string>;
  readonly faults: readonly NetworkFault[];
  /** `feeds 22`: entries left out that bear an id, so that what names them is not to blame. */
  readonly faulty: ReadonlySet<string>;
}

/** Reads a file's JSON as far as it has the shape, entry by entry, and lists everything that has not. */
export function shapeNetwork(json: unknown): ShapedNetwork {
  const issues = NETWORK_FILE.safeParse(json, { reportInput: true }).error?.issues ?? [];
  const bad = new Set(issues.map(({ path }) => pathOf(path.slice(0, 2))));
  const sound: Partial<Record<ListName, readonly { entry: unknown; place: string }[]>> = {};
  const faulty = new Set<string>();
  for (const list of LIST_NAMES) {
    const entries = entriesOf(json, list).map((entry, index) => ({ entry, place: pathOf([list, index]) }));
    sound[list] = entries.filter(({ place }) => !bad.has(place));
    for (const { entry, place } of entries)
      if (bad.has(place) && isObject(entry)) faulty.add(`${list} ${String(entry['id'])}`);
  }
  const lists = LIST_NAMES.map((list) => [list, sound[list]?.map(({ entry }) => entry)]);
  const network = NETWORK_FILE.parse(Object.fromEntries(lists));
  const places = new Map<object, string>();
  for (const list of LIST_NAMES)
    network[list].forEach((entry, index) => places.set(entry, sound[list]?.[index]?.place ?? '$'));
  return { network, places, faults: issues.flatMap(toFaults), faulty };
}

function entriesOf(json: unknown, list: ListName): readonly unknown[] {
  const entries = isObject(json) ? json[list] : undefined;
  return Array.isArray(entries) ? entries : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function toFaults(issue: z.core.$ZodIssue): readonly NetworkFault[] {
  const { path, message } = issue;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: pathOf([...path, key]), message: 'there is no such key' }));
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
