// Uses a client of openapi-typescript and openapi-fetch. Prints what it gets as JSON.
import createClient from 'openapi-fetch';
import { columnsOf, exact, exactOf, fid, isOfNow, products, search, transaction, voucher } from './example';
import { useClaims } from './openapi-fetch-claims';
import type { paths } from './schema';

const { BASE_URL = '', ADVERTISER, PUBLISHER, VOUCHER_ADVERTISER, VOUCHER_PUBLISHER } = process.env;
const { CLAIM_ADVERTISER, CLAIM_PUBLISHER, CONVERSION_ADVERTISER } = process.env;

const clientOf = (token: string | undefined) =>
  createClient<paths>({
    baseUrl: BASE_URL,
    headers: { Authorization: `Bearer ${token}` },
  });

// @ts-expect-error -- a test of the types: compiling fails unless the client refuses a key that does not exist.
export type Unknown = paths['/1.0/products']['get']['parameters']['query']['colour'];

async function use() {
  const advertiser = clientOf(ADVERTISER);
  const publisher = clientOf(PUBLISHER);
  const find = (query: { fid: number[]; page?: number; pageSize?: number }) =>
    publisher.GET('/1.0/products', { params: { query } });

  const posted = await advertiser.POST('/1.0/products', { params: { query: { fid } }, body: { products } });
  const found = await publisher.GET('/1.0/products', {
    params: { query: { ...search, fid: [fid], q: [...search.q] } },
  });
  const [product] = found.data?.products ?? [];
  const name: string | undefined = product?.name;
  const price: number | undefined = product?.offers[0]?.price;
  const second = await find({ fid: [fid], page: 2, pageSize: 1 });
  const csv = await publisher.GET('/1.0/products.{extension}', {
    params: { path: { extension: 'csv' }, query: { fid: [fid], csvSeparators: ';,:' } },
    parseAs: 'text',
  });
  const download = await publisher.GET('/1.0/productsUnlimited', { params: { query: { fid } } });
  const refused = await find({ fid: [fid], pageSize: 0 });
  const code: string | undefined = refused.error?.errors[0]?.code;
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires fid.
  const missing = await publisher.GET('/1.0/products', { params: { query: {} } });

  const voucherAdvertiser = clientOf(VOUCHER_ADVERTISER);
  const published = await voucherAdvertiser.POST('/1.0/vouchers', { body: voucher });
  const id: number | undefined = published.data?.[0];
  const listed = await clientOf(VOUCHER_PUBLISHER).GET('/1.0/vouchers', {
    params: { query: { id: [id ?? 0], voucherTypeId: [4, 5], siteSpecific: false } },
  });
  const title: string | undefined = listed.data?.[0]?.title;
  const path = { id: id ?? 0 };
  const removed = await voucherAdvertiser.DELETE('/1.0/vouchers/{id}', { params: { path } });

  const reporter = clientOf(CONVERSION_ADVERTISER);
  const reported = await reporter.POST('/1.0/conversions/transactions', { body: transaction });
  const all = await reporter.GET('/1.0/conversions/transactions', {
    params: { query: { orderNumber: [transaction.orderNumber] } },
  });
  const [one] = all.data ?? [];
  await reporter.POST('/1.0/conversions/transactions', { body: exact });
  const orders = { params: { query: { orderNumber: [exact.orderNumber] } } };
  const copy = (await reporter.GET('/1.0/conversions/transactions', orders)).data?.[0];

  return {
    posted: posted.data?.errors,
    found: [found.data?.productHeader.totalHits, name, price],
    secondPage: second.data?.products.length,
    csv: columnsOf(csv.data),
    downloaded: download.data?.products.map((one) => one.name),
    refused: [refused.response.status, code],
    missing: missing.error?.errors[0]?.message,
    voucher: [published.response.status, title],
    removed: removed.response.status,
    transaction: [reported.response.status, one?.orderValue, isOfNow(one?.timeOfEvent ?? '')],
    exact: exactOf(copy),
    claims: await useClaims(clientOf(CLAIM_PUBLISHER), clientOf(CLAIM_ADVERTISER)),
  };
}

void use().then((seen) => process.stdout.write(JSON.stringify(seen)));
