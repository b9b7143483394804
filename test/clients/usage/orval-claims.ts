// Uses a client of orval for claims.
import { claimOf, orders, rulings, search, subscription, toCheck } from './example-claims';
import * as api from './generated';

// @ts-expect-error -- a test of the types: compiling fails unless the client refuses a field that does not exist.
export type Unknown = api.Claim['colour'];

/** What a client sends with each request. */
type Options = { readonly headers: Readonly<Record<string, string>> };

/** The data of a success; its type excludes failures. */
function dataOf<Answer extends { status: number; data: unknown }>(
  answer: Answer,
): Extract<Answer, { status: 200 | 201 }>['data'] {
  if (answer.status !== 200 && answer.status !== 201) throw new Error(JSON.stringify(answer));
  return answer.data;
}

/** Returns what it gets. */
export async function useClaims(publisher: Options, advertiser: Options): Promise<object> {
  const [first = '', ...others] = orders;
  const file = (claims: api.PostedClaim[]) => api.createClaims({ claims }, undefined, publisher);
  const single = await file([claimOf(first)]);
  const bulk = await file(others.map((order) => claimOf(order)));
  const checked = dataOf(await api.checkClaims({ claims: toCheck() }, undefined, publisher));
  const list = await api.listClaims(search, publisher);
  const listed = dataOf(list);
  const [deleted = 0, rejected = 0, approved = 0] = listed.map(({ claimId }) => claimId);

  const update = { ...claimOf(first, 80), claimId: approved, versionNo: 0 };
  const revised = await api.updateClaims({ claimUpdates: [update] }, undefined, publisher);
  const claimUpdates = rulings(approved, rejected);
  const ruled = await api.updateClaims({ claimUpdates }, undefined, advertiser);
  const seen = dataOf(await api.listClaims({ claimId: [approved, rejected] }, advertiser));
  const versions = dataOf(await api.listClaimVersions(approved, undefined, advertiser));
  const removed = await api.deleteClaim(deleted, { versionNo: 0 }, publisher);
  const gone = await api.listClaimVersions(deleted, undefined, publisher);
  const statuses = dataOf(await api.listClaimStatuses(undefined, advertiser));

  const created = await api.createClaimSubscription(subscription, undefined, publisher);
  const { subscriptionId } = dataOf(created);
  const copy = dataOf(await api.getClaimSubscription(subscriptionId, undefined, publisher));
  const ended = await api.deleteClaimSubscription(subscriptionId, undefined, publisher);

  const duplicate = await file([claimOf(first, 80)]);
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires versionNo.
  const missing = await api.deleteClaim(rejected, {}, publisher);

  return {
    filed: [single.status, bulk.status],
    checked: checked.map(({ statusId }) => statusId),
    listed: listed.map(({ orderNumber }) => orders.indexOf(orderNumber)),
    total: list.headers.has('X-Total-Count'),
    updated: [revised.status, ruled.status],
    seen: seen.map(({ statusId, statusMessage, adjustedOrderValue, versionNo }) => [
      ...[statusId, statusMessage ?? '', adjustedOrderValue ?? 0, versionNo],
    ]),
    versions: versions.map(({ by, versionNo, orderValue }) => [by, versionNo, orderValue]),
    removed: [removed.status, gone.status, gone.status === 200 ? undefined : gone.data.errors[0]?.code],
    statuses: statuses.filter((status) => status.requireStatusMessage).map(({ statusId }) => statusId),
    subscription: [created.status, copy.filter.statusIds, ended.status],
    refused: [duplicate.status, duplicate.status === 200 ? undefined : duplicate.data.errors[0]?.code],
    missing: missing.status === 200 ? undefined : missing.data.errors[0]?.code,
  };
}
