// Uses a client of openapi-typescript and openapi-fetch for claims.
import { type Client } from 'openapi-fetch';
import { claimOf, orders, rulings, search, subscription, toCheck } from './example-claims';
import type { components, paths } from './schema';

// @ts-expect-error -- a test of the types: compiling fails unless the client refuses a field that does not exist.
export type Unknown = components['schemas']['Claim']['colour'];

/** Returns what it gets. */
export async function useClaims(publisher: Client<paths>, advertiser: Client<paths>): Promise<object> {
  const [first = '', ...others] = orders;
  const file = (claims: ReturnType<typeof claimOf>[]) => publisher.POST('/1.0/claims', { body: { claims } });
  const single = await file([claimOf(first)]);
  const bulk = await file(others.map((order) => claimOf(order)));
  const checked = await publisher.POST('/1.0/claims/check', { body: { claims: toCheck() } });
  const listed = await publisher.GET('/1.0/claims', { params: { query: search } });
  const [deleted = 0, rejected = 0, approved = 0] = listed.data?.map(({ claimId }) => claimId) ?? [];

  const update = { ...claimOf(first, 80), claimId: approved, versionNo: 0 };
  const revised = await publisher.POST('/1.0/claimUpdates', { body: { claimUpdates: [update] } });
  const claimUpdates = rulings(approved, rejected);
  const ruled = await advertiser.POST('/1.0/claimUpdates', { body: { claimUpdates } });
  const seen = await advertiser.GET('/1.0/claims', {
    params: { query: { claimId: [approved, rejected] } },
  });
  const versionsOf = (client: Client<paths>, id: number) =>
    client.GET('/1.0/claims/{id}/versions', { params: { path: { id } } });
  const versions = await versionsOf(advertiser, approved);
  const removed = await publisher.DELETE('/1.0/claims/{id}', {
    params: { path: { id: deleted }, query: { versionNo: 0 } },
  });
  const gone = await versionsOf(publisher, deleted);
  const statuses = await advertiser.GET('/1.0/claimStatuses');

  const created = await publisher.POST('/1.0/claims/subscriptions', { body: subscription });
  const params = { path: { id: created.data?.subscriptionId ?? '' } };
  const copy = await publisher.GET('/1.0/claims/subscriptions/{id}', { params });
  const ended = await publisher.DELETE('/1.0/claims/subscriptions/{id}', { params });

  const duplicate = await file([claimOf(first, 80)]);
  const code: string | undefined = duplicate.error?.errors[0]?.code;
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires versionNo.
  const missing = await publisher.DELETE('/1.0/claims/{id}', { params: { path: { id: rejected } } });

  return {
    filed: [single.response.status, bulk.response.status],
    checked: checked.data?.map(({ statusId }) => statusId),
    listed: listed.data?.map(({ orderNumber }) => orders.indexOf(orderNumber)),
    total: listed.response.headers.has('X-Total-Count'),
    updated: [revised.response.status, ruled.response.status],
    seen: seen.data?.map(({ statusId, statusMessage, adjustedOrderValue, versionNo }) => [
      ...[statusId, statusMessage ?? '', adjustedOrderValue ?? 0, versionNo],
    ]),
    versions: versions.data?.map(({ by, versionNo, orderValue }) => [by, versionNo, orderValue]),
    removed: [removed.response.status, gone.response.status, gone.error?.errors[0]?.code],
    statuses: statuses.data?.filter((status) => status.requireStatusMessage).map(({ statusId }) => statusId),
    subscription: [created.response.status, copy.data?.filter.statusIds, ended.response.status],
    refused: [duplicate.response.status, code],
    missing: missing.error?.errors[0]?.code,
  };
}
