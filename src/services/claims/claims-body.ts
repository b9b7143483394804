import { claimFaults as fault, MOST_FAULTS, RefusedItems } from '../../domain/claims/faults';
import { type PostedBody } from '../../http/posted-body';
import {
  isPosted,
  notesOf,
  type Posted,
  type ProblemFaults,
  Refusals,
  repeatedField,
  wrong,
} from '../../wire/api/posted';
import { postedFromJson } from '../../wire/json/read';
import { spellingsIn } from '../../wire/json/scan';
import { ignoredFields, unknownFields } from '../../wire/keys/name-list';
import { NotParsable } from '../../wire/bytes';
import { complete, type FoundIn, postedFromCsv, type ReadRecord } from '../../wire/record/read';
import {
  type Field,
  type Fields,
  listOf,
  type PostedOf,
  prefixed,
  record,
  type RecordKind,
} from '../../wire/record/record';
import { parseXml, postedFromXml, unreadOfRoot } from '../../wire/xml/nodes';
import { atMost, day, integer, text, url } from '../../wire/record/kinds';
import { money } from '../../wire/record/minor-units';

/** Claims, or updates, in one post (`docs/decisions.md#c3`). */
const MOST = 1000;

/** Limits of texts: `docs/decisions.md#c2`. */
const information = atMost(255, text({ orInteger: true }));

/** Document 3, Claim posted by a publisher. */
const CLAIM = {
  affiliateSiteId: { kind: integer(), required: true, description: 'Site of the publisher', example: 1101 },
  programId: { kind: integer(), required: true, description: 'Program', example: 101 },
  timeStampEvent: {
    kind: day(),
    required: true,
    description: 'Date of the transaction',
    example: '2026-02-20',
  },
  eventId: {
    kind: integer(),
    required: true,
    description: 'Event of the program; in most markets the inquiry event, 17',
    example: 1011,
  },
  orderNumber: {
    kind: atMost(240, text({ orInteger: true, isId: true })),
    required: true,
    description: 'Order number',
    example: 'C-1002',
  },
  orderValue: { kind: money(), required: true, description: 'Value of the order', example: 129.9 },
  epi: { kind: information, description: 'Extra publisher information' },
  epi2: { kind: information, description: 'Further publisher information' },
  trackingUrl: { kind: atMost(2048, text()), description: 'Tracking URL or click tag that was used' },
  productName: { kind: information, description: 'Name or description of the product' },
  proofOfClaims: { kind: atMost(2048, url()), description: 'URL of a proof' },
  expectedCommission: {
    kind: money(),
    description: 'Expected commission: for the inquiry event, and no other',
  },
  advertiserInformation: { kind: atMost(4000, text()), description: 'Information for the advertiser' },
} as const satisfies Fields;

export const postedClaim = record(prefixed('cm', CLAIM), { name: 'PostedClaim' });

export type PostedClaim = PostedOf<typeof postedClaim>;

const CLAIM_ID = { kind: integer(), required: true, description: 'Id of the claim', example: 57 } as const;
const VERSION_NO = {
  kind: integer(),
  required: true,
  description: 'The version that is updated: the latest one',
  example: 0,
} as const;

/** Document 3, Claim update posted by an advertiser; on legacy paths. */
const LEGACY_RULING = {
  claimId: CLAIM_ID,
  statusIdClaim: { kind: integer(), required: true, description: 'New status', example: 3 },
  statusMessageClaim: {
    kind: atMost(255, text()),
    description: 'Message; required of status 201: Display, Search, Retargeting, Email, Offline or Other',
  },
  orderValue: { kind: money(), description: 'Corrected order value, with status 3' },
  expectedCommission: { kind: money(), description: 'Corrected commission, with status 3' },
} as const satisfies Fields;

export const postedLegacyRuling = record(
  prefixed('cm', { ...LEGACY_RULING, claimId: { ...CLAIM_ID, example: 59 } }),
  { name: 'PostedLegacyUpdate' },
);

/** Document 3, Claim update posted by an advertiser. */
export const postedRuling = record(prefixed('cm', { ...LEGACY_RULING, versionNo: VERSION_NO }));

/** Document 3, Claim update posted by a publisher. */
export const postedRevision = record(prefixed('cm', { claimId: CLAIM_ID, ...CLAIM, versionNo: VERSION_NO }));

/** What either of them posts: for descriptions only. */
export const postedUpdate = record(
  prefixed('cm', {
    claimId: CLAIM_ID,
    versionNo: VERSION_NO,
    statusIdClaim: { ...of('advertisers', LEGACY_RULING.statusIdClaim), example: 3 },
    statusMessageClaim: of('advertisers', LEGACY_RULING.statusMessageClaim),
    ...Object.fromEntries(Object.entries(CLAIM).map(([name, field]) => [name, of('publishers', field)])),
    orderValue: {
      kind: money(),
      description: 'Of publishers: value of the order; of advertisers: corrected',
    },
    expectedCommission: { kind: money(), description: 'Expected commission; of advertisers: corrected' },
  }),
  { name: 'PostedClaimUpdate' },
);

/** A field of one of them, which the other does not post. */
function of(who: string, { kind, description }: Field): Field {
  return { kind, description: `${description}; of ${who}` };
}

export const postedClaims = listOf(postedClaim, { each: 'claim', most: MOST });

/** The same with the example of an order that nobody claims. */
export const postedChecks = listOf(
  record(
    { ...postedClaim.fields, orderNumber: { ...postedClaim.fields.orderNumber, example: 'C-1004' } },
    { name: 'PostedClaim' },
  ),
  { each: 'claim', most: MOST },
);

export const postedUpdates = listOf(postedUpdate, { each: 'claimUpdate', most: MOST });
export const postedLegacyRulings = listOf(postedLegacyRuling, { each: 'claimUpdate', most: MOST });

/** What claims may be posted in (`docs/decisions.md#c13`); updates may not be in CSV. */
export const CLAIM_FORMATS = ['json', 'xml', 'csv'] as const;
export const UPDATE_FORMATS = ['json', 'xml'] as const;
export type PostedFormat = (typeof CLAIM_FORMATS)[number];

/** A posted list as it was read from its body, in the shape of JSON, each item still unchecked. */
export interface PostedList {
  /** What it is called in JSON and XML. */
  readonly name: keyof typeof LISTS;
  readonly items: readonly unknown[];
  /** Paths of what was not read beside the items. */
  readonly unread?: readonly string[];
  readonly format: PostedFormat;
  /** The body, if it is JSON: for messages. */
  readonly text?: string;
}

const LISTS = { claims: postedClaims, claimUpdates: postedUpdates } as const;

/** The version of XML bodies (Document 3, Versioning). */
const VERSION = '1.0';

/** Most bytes of a body (`docs/decisions.md#c3`). */
const MAX_BODY = 900 * 1024;

/** The list in a body of an accepted format. Unknown fields are named in a header, whatever else is wrong. */
export async function postedList(
  name: PostedList['name'],
  body: PostedBody,
  accepted: readonly PostedFormat[],
  kind: RecordKind,
): Promise<PostedList> {
  const format = body.format(accepted);
  const posted = readPosted(name, await body.bytes(MAX_BODY), format);
  body.report(ignoredIn(posted, kind));
  return posted;
}

/**
 * Reads a posted list. Raises UTS_210, UTS_291 and UTS_212 for what is not JSON, XML or CSV, UTS_211 if it contains
 * something else, and a fault if it has no items or too many (`docs/decisions.md#c7`).
 */
export function readPosted(name: PostedList['name'], bytes: Buffer, format: PostedFormat): PostedList {
  const { items, unread = [] } = listIn(name, bytes, format);
  if (items === undefined || items.length === 0) {
    const missing = format === 'json' ? fault.missingValue : fault.missingParameter;
    throw missing(`${name} must be set: at least one ${LISTS[name].each}`);
  }
  if (items.length > MOST)
    throw fault.illegalValue(
      `${name} has ${items.length} items: expected at most ${MOST}; post the others separately`,
    );
  return { name, items, unread, format, ...(format === 'json' ? { text: bytes.toString() } : {}) };
}

const NOT_PARSABLE = { json: fault.notJson, xml: fault.notXml, csv: fault.notCsv } as const;

interface ReadItems {
  readonly items: readonly unknown[] | undefined;
  readonly unread?: readonly string[];
}

function listIn(name: PostedList['name'], bytes: Buffer, format: PostedFormat): ReadItems {
  try {
    if (format === 'csv') return { items: postedFromCsv(LISTS[name].of(), bytes) };
    return format === 'json' ? inJson(name, bytes) : inXml(name, bytes);
  } catch (error) {
    throw error instanceof NotParsable ? NOT_PARSABLE[format](error.message) : error;
  }
}

function inJson(name: PostedList['name'], bytes: Buffer): ReadItems {
  const { each } = LISTS[name];
  const found = postedFromJson(bytes);
  if (!isPosted(found)) throw fault.notReadable(`expected an object with ${name}, a list of ${each} objects`);
  const other = Object.keys(LISTS).find((list) => list !== name && found[list] !== undefined);
  if (other !== undefined) throw fault.notReadable(`expected an object with ${name} alone, found ${other}`);
  const items = found[name] ?? undefined;
  const isList = Array.isArray(items);
  if (items !== undefined && !isList) throw fault.notReadable(`${name}: expected a list of ${each} objects`);
  requireOnce(notesOf(found)?.repeated);
  return { items, unread: Object.keys(found).filter((member) => member !== name) };
}

function inXml(name: PostedList['name'], bytes: Buffer): ReadItems {
  const { each, of } = LISTS[name];
  const root = parseXml(bytes);
  const strange = root.name === name ? root.children.find((child) => child.name !== each)?.name : root.name;
  if (strange !== undefined)
    throw fault.notReadable(`expected a root element ${name} with ${each} elements, found ${cut(strange)}`);
  const { version = VERSION } = root.attributes;
  if (version !== VERSION)
    throw fault.illegalValue(`${name}: version is ${cut(version)}, expected ${VERSION}`);
  const kind = of();
  const items = root.children.map((child, at) => {
    const item = postedFromXml(kind, child);
    requireOnce(notesOf(item)?.repeated, `${name}[${at}].`);
    return item;
  });
  return { items, unread: unreadOfRoot(root, ['version']) };
}

/** Raises UTS_211 for the first of some repeated fields. */
function requireOnce(repeated: ReadonlySet<string> = new Set(), within = ''): void {
  for (const path of repeated) throw fault.notReadable(repeatedField(`${within}${path}`));
}

function cut(sent: string): string {
  return sent.slice(0, 100);
}

/** A rule between the fields of an item, as they are found and as they were posted; `place`: `claims[2]`. */
export type CheckItem<K extends RecordKind> = (
  found: FoundIn<K>,
  place: string,
  refusals: Refusals,
  posted: Posted,
) => void;

/** Reads each item of a list and checks it. Raises all faults as `RefusedItems`; their status is that of the first. */
export function checkEach<K extends RecordKind>(
  { name, items, format, text }: PostedList,
  read: ReadRecord<K>,
  check: CheckItem<K>,
): readonly PostedOf<K>[] {
  const origin = text === undefined ? {} : { spelling: spellingsIn(text) };
  const refusals = new Refusals(problemsIn(format), {}, MOST_FAULTS, origin);
  const found: FoundIn<K>[] = [];
  for (const [at, item] of items.entries()) {
    const place = `${name}[${at}]`;
    if (isPosted(item)) {
      const fields = read(item, refusals, undefined, place);
      check(fields, place, refusals, item);
      found.push(fields);
    } else {
      refusals.add(fault.notReadable, wrong(place, item, 'an object'));
      found.push({});
    }
  }
  if (!refusals.areNone) throw new RefusedItems(refusals.faults, refusals.moreFaults, found);
  return found.map((fields) => complete<PostedOf<K>>(fields, refusals));
}

/** The header that names posted fields which a table does not have: they are ignored (`docs/decisions.md#a15`). */
export function ignoredIn(
  { items, unread = [] }: PostedList,
  kind: RecordKind,
): Readonly<Record<string, string>> {
  return ignoredFields([...unknownFields(kind, items), ...unread]);
}

/** `docs/decisions.md#c7`. */
export function problemsIn(format: PostedFormat): ProblemFaults {
  return {
    missing: format === 'json' ? fault.missingValue : fault.missingParameter,
    notNumeric: fault.notNumeric,
    notDate: fault.notDate,
    unusable: fault.illegalValue,
  };
}
