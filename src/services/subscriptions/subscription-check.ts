import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { contentIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type Receiver,
  type SubscriptionContent,
  type SubscriptionFilter,
} from '../../domain/subscriptions/subscription';
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
import { checkAccess } from './access-check';
import {
  type FoundCustomAttribute,
  type FoundReceiver,
  MOST,
  postedSubscription,
  type PostedSubscription,
} from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { checkReceiver, type ReceiverRules } from './receiver-check';

/** What subscriptions are checked against. */
export interface CheckOptions extends Pick<ReceiverRules, 'addressProblem'> {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'kind' | 'organisationId' | 'siteId'>;
  /** Currencies that there are rates for; undefined as long as there are none (`docs/decisions.md#n12`). */
  readonly convertible: ReadonlySet<string> | undefined;
  /** What a PUT replaces: its receivers may be named by their ids. */
  readonly before?: { readonly id: string; readonly content: SubscriptionContent } | undefined;
}

/** Faults that an answer lists: a body of 1 MB could have a hundred thousand (`docs/decisions.md#n16`). */
const MOST_FAULTS = 100;

/** Compiles the check of a kind of subscriptions. */
export class SubscriptionCheck {
  private readonly read;

  constructor(private readonly kind: SubscriptionKind) {
    this.read = recordReader(postedSubscription(kind));
  }

  /** Checks what was posted. Raises everything that is wrong as `Faults`. */
  check(posted: Posted, options: CheckOptions): SubscriptionContent {
    const refusals = new Refusals({ unusable: fault.content }, {}, MOST_FAULTS);
    const found = this.read(withFilter(posted), refusals);
    const { receivers, currencyConversion, customAttribute } = found;
    checkAccess(idsIn(posted['filter']), this.kind, options, refusals);
    const names = this.namesWith(customAttribute?.userAttribute);
    const rules = { names, addressProblem: options.addressProblem };
    const sent: unknown = posted['receivers'];
    receivers?.forEach((receiver: FoundReceiver, at) => {
      const item: unknown = Array.isArray(sent) ? sent[at] : undefined;
      checkReceiver(receiver, { posted: item, place: `receivers[${at}]` }, rules, refusals);
    });
    checkCurrency(currencyConversion?.to, options.convertible, refusals);
    if (customAttribute !== undefined) this.checkCustomAttribute(customAttribute, refusals);
    const { before } = options;
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

  /** Names of posted fields that there are not: they are ignored. */
  unknownFields(posted: Posted): ReadonlySet<string> {
    const unknown = new Set<string>();
    const refusals = new Refusals({ unusable: fault.content }, {}, 0, {
      onUnknown: (path) => unknown.add(path),
    });
    this.read(posted, refusals);
    return unknown;
  }

  private namesWith(userAttribute: string | undefined): readonly string[] {
    const { attributes } = this.kind;
    return userAttribute === undefined ? attributes : [...attributes, userAttribute];
  }

  /** `docs/decisions.md#n13`. */
  private checkCustomAttribute(found: FoundCustomAttribute, refusals: Refusals): void {
    const { tdAttributes, userAttribute, rules } = found;
    const { attributes } = this.kind;
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
    const { [this.kind.states.field]: stateIds = [], ...lists } = found;
    return { ...lists, stateIds };
  }
}

/** All usable ids of a filter, of lists too that have others: their faults are reported together. */
function idsIn(filter: unknown): Readonly<Record<string, readonly number[]>> {
  const lists = isPosted(filter) ? Object.entries(filter) : [];
  return Object.fromEntries(
    lists.map(([field, ids]) => [field, Array.isArray(ids) ? ids.slice(0, MOST.ids).flatMap(idIn) : []]),
  );
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
 * Ids name receivers that the subscription has, each once (`docs/decisions.md#n8`), or are those that new receivers get: a copy
 * from before a receiver was removed puts it back.
 */
function checkReceiverIds(
  found: readonly FoundReceiver[],
  before: NonNullable<CheckOptions['before']>,
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
