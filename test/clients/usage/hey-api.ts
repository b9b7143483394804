// Uses a client of @hey-api/openapi-ts. Prints what it gets as JSON.
import { columnsOf, exact, exactOf, fid, isOfNow, products, search, transaction, voucher } from './example';
import * as api from './generated';
import { createClient } from './generated/client';
import { useClaims } from './hey-api-claims';

const { BASE_URL = '', ADVERTISER, PUBLISHER, VOUCHER_ADVERTISER, VOUCHER_PUBLISHER } = process.env;
const { CLAIM_ADVERTISER, CLAIM_PUBLISHER, CONVERSION_ADVERTISER } = process.env;

/** It sends the token as the description names it. */
const clientOf = (token = '') => createClient({ baseUrl: BASE_URL, auth: () => token });

async function use() {
  const client = clientOf(PUBLISHER);

  const posted = await api.loadProducts({ client: clientOf(ADVERTISER), query: { fid }, body: { products } });
  const found = await api.searchProducts({
    client,
    query: { ...search, fid: [fid], q: [...search.q] },
  });
  const [product] = found.data?.products ?? [];
  const name: string | undefined = product?.name;
  const price: number | undefined = product?.offers[0]?.price;
  const second = await api.searchProducts({ client, query: { fid: [fid], page: 2, pageSize: 1 } });
  const csv = await api.searchProductsAs({
    client,
    path: { extension: 'csv' },
    query: { fid: [fid], csvSeparators: ';,:' },
    parseAs: 'text',
  });
  const download = await api.downloadFeed({ client, query: { fid } });
  const refused = await api.searchProducts({ client, query: { fid: [fid], pageSize: 0 } });
  const code: string | undefined = refused.error?.errors[0]?.code;
  // @ts-expect-error -- a test of the types: compiling fails unless the client refuses a key that does not exist.
  await api.searchProducts({ client, query: { fid: [fid], colour: 'red' } });
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires fid.
  const missing = await api.searchProducts({ client, query: {} });

  const voucherAdvertiser = clientOf(VOUCHER_ADVERTISER);
  const published = await api.postVoucher({ client: voucherAdvertiser, body: voucher });
  const id: number | undefined = published.data?.[0];
  const listed = await api.listVouchers({
    client: clientOf(VOUCHER_PUBLISHER),
    query: { id: [id ?? 0], voucherTypeId: [4, 5], siteSpecific: false },
  });
  const title: string | undefined = listed.data?.[0]?.title;
  const removed = await api.deleteVoucher({ client: voucherAdvertiser, path: { id: id ?? 0 } });

  const reporter = clientOf(CONVERSION_ADVERTISER);
  const reported = await api.reportTransaction({ client: reporter, body: transaction });
  const { orderNumber } = transaction;
  const all = await api.listTransactions({ client: reporter, query: { orderNumber: [orderNumber] } });
  const [one] = all.data ?? [];
  await api.reportTransaction({ client: reporter, body: exact });
  const orders = { orderNumber: [exact.orderNumber] };
  const copy = (await api.listTransactions({ client: reporter, query: orders })).data?.[0];

  return {
    posted: posted.data?.errors,
    found: [found.data?.productHeader.totalHits, name, price],
    secondPage: second.data?.products.length,
    csv: columnsOf(csv.data),
    downloaded: download.data?.products.map((one) => one.name),
    refused: [refused.response?.status, code],
    missing: missing.error?.errors[0]?.message,
    voucher: [published.response?.status, title],
    removed: removed.response?.status,
    transaction: [reported.response?.status, one?.orderValue, isOfNow(one?.timeOfEvent ?? '')],
    exact: exactOf(copy),
    claims: await useClaims(clientOf(CLAIM_PUBLISHER), clientOf(CLAIM_ADVERTISER)),
  };
}

void use().then((seen) => process.stdout.write(JSON.stringify(seen)));
