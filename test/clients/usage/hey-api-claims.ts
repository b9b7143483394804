// Uses a client of @hey-api/openapi-ts for claims.
import { claimOf, orders, rulings, search, subscription, toCheck } from './example-claims';
import * as api from './generated';
import { type Client } from './generated/client';

// @ts-expect-error -- a test of the types: compiling fails unless the client refuses a field that does not exist.
export type Unknown = api.Claim['colour'];

/** Returns what it gets. */
export async function useClaims(publisher: Client, advertiser: Client): Promise<object> {
  const client = publisher;
  const [first = '', ...others] = orders;
  const single = await api.createClaims({ client, body: { claims: [claimOf(first)] } });
  const bulk = await api.createClaims({ client, body: { claims: others.map((order) => claimOf(order)) } });
  const checked = await api.checkClaims({ client, body: { claims: toCheck() } });
  const listed = await api.listClaims({ client, query: search });
  const [deleted = 0, rejected = 0, approved = 0] = listed.data?.map(({ claimId }) => claimId) ?? [];

  const update = { ...claimOf(first, 80), claimId: approved, versionNo: 0 };
  const revised = await api.updateClaims({ client, body: { claimUpdates: [update] } });
  const claimUpdates = rulings(approved, rejected);
  const ruled = await api.updateClaims({ client: advertiser, body: { claimUpdates } });
  const seen = await api.listClaims({ client: advertiser, query: { claimId: [approved, rejected] } });
  const versions = await api.listClaimVersions({ client: advertiser, path: { id: approved } });
  const removed = await api.deleteClaim({ client, path: { id: deleted }, query: { versionNo: 0 } });
  const gone = await api.listClaimVersions({ client, path: { id: deleted } });
  const statuses = await api.listClaimStatuses({ client: advertiser });

  const created = await api.createClaimSubscription({ client, body: subscription });
  const path = { id: created.data?.subscriptionId ?? '' };
  const copy = await api.getClaimSubscription({ client, path });
  const ended = await api.deleteClaimSubscription({ client, path });

  const duplicate = await api.createClaims({ client, body: { claims: [claimOf(first, 80)] } });
  const code: string | undefined = duplicate.error?.errors[0]?.code;
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires versionNo.
  const missing = await api.deleteClaim({ client, path: { id: rejected } });

  return {
    filed: [single.response?.status, bulk.response?.status],
    checked: checked.data?.map(({ statusId }) => statusId),
    listed: listed.data?.map(({ orderNumber }) => orders.indexOf(orderNumber)),
    total: listed.response?.headers.has('X-Total-Count'),
    updated: [revised.response?.status, ruled.response?.status],
    seen: seen.data?.map(({ statusId, statusMessage, adjustedOrderValue, versionNo }) => [
      ...[statusId, statusMessage ?? '', adjustedOrderValue ?? 0, versionNo],
    ]),
    versions: versions.data?.map(({ by, versionNo, orderValue }) => [by, versionNo, orderValue]),
    removed: [removed.response?.status, gone.response?.status, gone.error?.errors[0]?.code],
    statuses: statuses.data?.filter((status) => status.requireStatusMessage).map(({ statusId }) => statusId),
    subscription: [created.response?.status, copy.data?.filter.statusIds, ended.response?.status],
    refused: [duplicate.response?.status, code],
    missing: missing.error?.errors[0]?.code,
  };
}
