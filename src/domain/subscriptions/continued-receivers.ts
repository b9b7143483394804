import { without } from '../../kernel/without';
import { contentIdOf, type Receiver, receiversOf, salted } from './receiver-id';

/**
 * Which receivers a PUT continues (`docs/decisions.md#n8`): those that it names by their ids; of the others, those that are equal
 * in method, URL, format and body; of the rest the only one, if one is left on both sides. So what waits for a receiver is sent
 * after its URL or body has changed. Returns what was posted, each with the id of the receiver that it continues, where that is
 * not its own. The `id` of one that was posted is the one that it names.
 */
export function continuedReceivers(
  subscriptionId: string,
  before: readonly Receiver[],
  posted: readonly Receiver[],
): readonly Receiver[] {
  const known = receiversOf(subscriptionId, { receivers: before });
  const contentOf = (receiver: Receiver): string => contentIdOf(subscriptionId, receiver);
  /** Ids by content: equal receivers are one. */
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const give = (content: string, id: string): void => {
    ids.set(content, id);
    taken.add(id);
  };
  for (const receiver of posted) {
    const { id } = receiver;
    if (id !== undefined && known.has(id) && !taken.has(id) && !ids.has(contentOf(receiver)))
      give(contentOf(receiver), id);
  }
  const others = posted.filter((receiver) => !ids.has(contentOf(receiver)));
  for (const content of new Set(others.map(contentOf))) {
    const equal = [...known].find(([id, one]) => !taken.has(id) && contentOf(one) === content);
    if (equal !== undefined) give(content, equal[0]);
  }
  const changed = new Set(others.filter(({ id }) => id === undefined).map(contentOf));
  const [content, ...more] = [...changed].filter((one) => !ids.has(one));
  const [left, ...rest] = [...known.keys()].filter((id) => !taken.has(id));
  if (content !== undefined && left !== undefined && more.length + rest.length === 0) give(content, left);
  for (const receiver of others) {
    const own = contentOf(receiver);
    if (ids.has(own)) continue;
    // The id that it would have may be that of a receiver that had its content before.
    let fresh = own;
    for (let n = 1; known.has(fresh) || taken.has(fresh); n += 1) fresh = salted(own, n);
    give(own, fresh);
  }
  return posted.map((one) => {
    const [receiver, own] = [without(one, 'id'), contentOf(one)];
    const id = ids.get(own);
    return id === undefined || id === own ? receiver : { ...receiver, id };
  });
}

/** The ids of receivers that are others than before: whatever has made them rest may be mended. */
export function changedReceivers(
  subscriptionId: string,
  before: readonly Receiver[],
  after: readonly Receiver[],
): readonly string[] {
  const known = receiversOf(subscriptionId, { receivers: before });
  const contentOf = (receiver: Receiver): string => contentIdOf(subscriptionId, receiver);
  const changed = [...receiversOf(subscriptionId, { receivers: after })].filter(([id, receiver]) => {
    const old = known.get(id);
    return old !== undefined && contentOf(old) !== contentOf(receiver);
  });
  return changed.map(([id]) => id);
}
