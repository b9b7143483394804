import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { contentIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type Receiver,
  type SubscriptionContent,
  type SubscriptionFilter,
} from '../../domain/subscriptions/subscription';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import {
  isPosted,
  isUnset,
  note,
  notesOf,
  type Posted,
  Refusals,
  wholeNumber,
  wrong,
} from '../../wire/api/posted';
import { complete, recordReader } from '../../wire/record/read';
import { tooManyWords } from '../../wire/words';
import {
  type FoundCustomAttribute,
  type FoundReceiver,
  MOST,
  postedSubscription,
  type PostedSubscription,
} from './fields';
import { checkReceiver, type ReceiverRules } from './receiver-check';

export interface SubscriptionCheckParts extends Pick<ReceiverRules, 'addressProblem'> {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'kind' | 'organisationId' | 'siteId'>;
  readonly convertible: ReadonlySet<string> | undefined;
  /** What a PUT replaces: its receivers may be named by their ids. */
  readonly before?: { readonly id: string; readonly content: SubscriptionContent } | undefined;
}

/** Faults that an answer lists: a body of 1 MB could have a hundred thousand (`docs/decisions.md#n16`). */
const MOST_FAULTS = 100;

export class SubscriptionCheck {
  private readonly read;

  constructor(private readonly topic: SubscriptionTopic) {
    this.read = recordReader(postedSubscription(topic));
  }

  /** Checks what was posted. Raises everything that is wrong as `Faults`. */
  check(posted: Posted, parts: SubscriptionCheckParts): SubscriptionContent {
    const refusals = new Refusals({ unusable: fault.content }, {}, MOST_FAULTS);
    const found = this.read(withFilter(posted), refusals);
    const { receivers, currencyConversion, customAttribute } = found;
    checkAccess(idsIn(posted['filter'], this.topic), this.topic, parts, refusals);
    const trouble = tooManyWords('filter.keywords', wordsIn(found.filter));
    if (trouble !== undefined) refusals.add(fault.content, trouble);
    const names = this.namesWith(customAttribute?.userAttribute);
    const rules = { names, addressProblem: parts.addressProblem };
    const sent: unknown = posted['receivers'];
    receivers?.forEach((receiver: FoundReceiver, at) => {
      const item: unknown = Array.isArray(sent) ? sent[at] : undefined;
      checkReceiver(receiver, { posted: item, place: `receivers[${at}]` }, rules, refusals);
    });
    checkCurrency(currencyConversion?.to, parts.convertible, refusals);
    if (customAttribute !== undefined) this.checkCustomAttribute(customAttribute, refusals);
    const { before } = parts;
    if (before !== undefined) checkReceiverIds(receivers ?? [], before, refusals);
    const { disabled, strictOrder, ...whole } = complete<PostedSubscription>(found, refusals);
    return {
      ...whole,
      filter: this.filterIn(whole.filter),
      receivers: whole.receivers.map((receiver) => storedReceiver(receiver, before !== undefined)),
      ...(disabled ? { disabled } : {}),
      ...(strictOrder ? { strictOrder } : {}),
    };
  }

  unknownFields(posted: Posted): ReadonlySet<string> {
    const unknown = new Set<string>();
    const refusals = new Refusals({ unusable: fault.content }, {}, 0, {
      onUnknown: (path) => unknown.add(path),
    });
    this.read(posted, refusals);
    return unknown;
  }

  private namesWith(userAttribute: string | undefined): readonly string[] {
    const { attributes } = this.topic;
    return userAttribute === undefined ? attributes : [...attributes, userAttribute];
  }

  /** `docs/decisions.md#n13`. */
  private checkCustomAttribute(found: FoundCustomAttribute, refusals: Refusals): void {
    const { tdAttributes, userAttribute, rules } = found;
    const { attributes } = this.topic;
    for (const name of tdAttributes ?? [])
      if (!attributes.includes(name))
        refusals.add(
          fault.attribute,
          wrong('customAttribute.tdAttributes', name, `names among ${attributes.join(', ')}`),
        );
    if (userAttribute !== undefined && (!/^\w+$/.test(userAttribute) || attributes.includes(userAttribute)))
      refusals.add(
        fault.attribute,
        wrong(
          'customAttribute.userAttribute',
          userAttribute,
          'a name of letters, digits and _ that no attribute has',
        ),
      );
    const count = tdAttributes?.length;
    rules?.forEach(({ inputs }: Partial<(typeof rules)[number]>, at) => {
      if (count === undefined || inputs === undefined || inputs.length === count) return;
      const expected = `${count} inputs, one of each of tdAttributes`;
      refusals.wrong(`customAttribute.rules[${at}].inputs`, inputs, expected);
    });
  }

  private filterIn(found: PostedSubscription['filter']): SubscriptionFilter {
    const { [this.topic.states.field]: states, ...others } = found;
    return { ...others, stateIds: valuesIn(states).filter((id) => typeof id === 'number') };
  }
}

/** All usable ids of a filter, of lists too that have others: their faults are reported together. */
function idsIn(
  posted: unknown,
  { filter, states }: SubscriptionTopic,
): Readonly<Record<string, readonly number[]>> {
  const isList = (name: string): boolean => name in filter || name === states.field;
  const lists = isPosted(posted) ? Object.entries(posted).filter(([name]) => isList(name)) : [];
  return Object.fromEntries(
    lists.map(([field, ids]) => [field, Array.isArray(ids) ? ids.slice(0, MOST.ids).flatMap(idIn) : []]),
  );
}

function wordsIn(filter: Partial<PostedSubscription['filter']> | undefined): readonly string[] {
  return valuesIn(filter?.['keywords']).filter((keyword) => typeof keyword === 'string');
}

function valuesIn(found: PostedSubscription['filter'][string] | undefined): readonly (number | string)[] {
  return typeof found === 'object' ? found : [];
}

function idIn(posted: unknown): readonly number[] {
  const id = wholeNumber(posted);
  return id === undefined ? [] : [id];
}

/** Without a filter, the states that it must have are missing. */
function withFilter(posted: Posted): Posted {
  if (!isUnset(posted['filter'])) return posted;
  const whole = { ...posted, filter: {} };
  note(whole, notesOf(posted));
  return whole;
}

/** `docs/decisions.md#n12`. */
function checkCurrency(
  to: string | undefined,
  convertible: ReadonlySet<string> | undefined,
  refusals: Refusals,
): void {
  if (to === undefined || convertible === undefined || convertible.has(to)) return;
  const expected = `a currency that there is a rate for: ${[...convertible].sort().join(', ')}`;
  refusals.add(fault.currency, wrong('currencyConversion.to', to, expected));
}

/**
 * Ids name receivers that the subscription has, each once (`docs/decisions.md#n8`), or are those that new receivers
 * get: a copy from before a receiver was removed puts it back.
 */
function checkReceiverIds(
  found: readonly FoundReceiver[],
  before: NonNullable<SubscriptionCheckParts['before']>,
  refusals: Refusals,
): void {
  const known = receiversOf(before.id, before.content);
  const named = new Map<string, { readonly place: string; readonly content: string }>();
  found.forEach((receiver, at) => {
    const { receiverId } = receiver;
    if (receiverId === undefined) return;
    const content = contentIdOf(before.id, storedReceiver(receiver, false));
    const place = `receivers[${at}]`;
    const other = named.get(receiverId);
    named.set(receiverId, other ?? { place, content });
    if (other !== undefined && other.content !== content)
      refusals.wrong(
        `${place}.receiverId`,
        receiverId,
        `another id than that of ${other.place}, which is different`,
      );
    if (known.has(receiverId) || receiverId === content) return;
    const expected = `one of ${[...known.keys()].join(', ')}, or none for a new receiver`;
    refusals.add(fault.unknownReceiver, wrong(`${place}.receiverId`, receiverId, expected));
  });
}

function storedReceiver(found: FoundReceiver, isNamed: boolean): Receiver {
  const { httpMethod, receiverUrl = '', receiverBody = '', receiverFormat = 'custom', disabled } = found;
  const { receiverId: id } = found;
  const switched = {
    ...(disabled === true ? { disabled } : {}),
    ...(isNamed && id !== undefined ? { id } : {}),
  };
  return httpMethod === 'POST'
    ? { httpMethod, receiverUrl, receiverBody, receiverFormat, ...switched }
    : { httpMethod: 'GET', receiverUrl, ...switched };
}

type Access = Pick<SubscriptionCheckParts, 'directory' | 'caller' | 'before'>;

type IdLists = Readonly<Record<string, readonly number[] | undefined>>;

/** Sites that a message lists; a network of sites has thousands. */
const MOST_LISTED = 20;

/** Whether the caller may be notified of what a filter selects, unless it is already (`docs/decisions.md#n11`). */
function checkAccess(filter: IdLists, topic: SubscriptionTopic, access: Access, refusals: Refusals): void {
  const gained = (field: 'programIds' | 'eventIds' | 'siteIds' | 'feedIds'): readonly number[] => {
    const known = new Set(access.before?.content.filter[field]);
    return filter[field]?.filter((id) => !known.has(id)) ?? [];
  };
  checkPrograms(gained('programIds'), access, refusals);
  checkEvents(gained('eventIds'), access, refusals);
  checkSites(gained('siteIds'), access, refusals);
  checkFeeds(gained('feedIds'), access, refusals);
  const { field, notForAdvertisers } = topic.states;
  if (access.caller.kind !== 'advertiser') return;
  for (const id of new Set(filter[field]))
    if (notForAdvertisers.includes(id))
      refusals.add(
        fault.paidForAdvertiser,
        `filter.${field} has ${id}: expected states that advertisers may subscribe to`,
      );
}

function checkPrograms(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  const accessible = directory.programsOf(holderOf(caller));
  for (const id of new Set(ids)) {
    const program = directory.program(id);
    if (program?.status !== 'active')
      refusals.add(fault.unknownProgram, `filter.programIds has ${id}: expected existing, active programs`);
    if (program !== undefined && !accessible.has(id))
      refusals.add(fault.noProgramAccess, `filter.programIds has ${id}: expected ${ownPrograms(caller)}`);
  }
}

function checkEvents(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  if (ids.length === 0) return;
  const programs = [...directory.programsOf(holderOf(caller))].map((id) => directory.program(id));
  const accessible = new Set(programs.flatMap((program) => program?.events.map(({ id }) => id) ?? []));
  for (const id of new Set(ids))
    if (!accessible.has(id))
      refusals.add(
        fault.noEventAccess,
        `filter.eventIds has ${id}: expected events of ${ownPrograms(caller)}`,
      );
}

function checkSites(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  const programs = directory.programsOf(holderOf(caller));
  const sites = directory.sitesOf(holderOf(caller));
  const isAccessible = (id: number): boolean =>
    caller.kind === 'publisher'
      ? sites.includes(id)
      : [...directory.programs.connectionsOf(id)].some((programId) => programs.has(programId));
  const own = sites.length > MOST_LISTED ? 'sites of yours' : `sites of yours: ${sites.join(', ')}`;
  const expected = caller.kind === 'publisher' ? own : 'sites that are connected to a program of yours';
  for (const id of new Set(ids))
    if (!isAccessible(id)) refusals.add(fault.noSiteAccess, `filter.siteIds has ${id}: expected ${expected}`);
}

function checkFeeds(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  if (ids.length === 0) return;
  const accessible = new Set(directory.feedsOf(holderOf(caller)).map(({ id }) => id));
  for (const id of new Set(ids))
    if (!accessible.has(id))
      refusals.add(fault.content, `filter.feedIds has ${id}: expected feeds of ${ownPrograms(caller)}`);
}

function ownPrograms({ kind, siteId }: Access['caller']): string {
  if (kind === 'advertiser') return 'programs of yours';
  return siteId === undefined
    ? 'programs that a site of yours is connected to'
    : `programs that site ${siteId} is connected to`;
}

/** The directory only reads who the caller is. */
function holderOf(caller: Access['caller']): Caller {
  return { tokenHash: '', system: 'CONVERSIONS', ...caller };
}
