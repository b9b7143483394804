// Uses a client of orval. Prints what it gets as JSON.
import { columnsOf, exact, exactOf, fid, isOfNow, products, search, transaction, voucher } from './example';
import * as api from './generated';
import { useClaims } from './orval-claims';

const { BASE_URL = '', ADVERTISER, PUBLISHER, VOUCHER_ADVERTISER, VOUCHER_PUBLISHER } = process.env;
const { CLAIM_ADVERTISER, CLAIM_PUBLISHER, CONVERSION_ADVERTISER } = process.env;

const by = (token: string | undefined) => ({ headers: { Authorization: `Bearer ${token}` } });

/** The data of a success; its type excludes failures. */
function dataOf<Answer extends { status: number; data: unknown }>(
  answer: Answer,
): Extract<Answer, { status: 200 }>['data'] {
  if (answer.status !== 200) throw new Error(JSON.stringify(answer));
  return answer.data;
}

async function use() {
  const posted = await api.loadProducts({ products }, { fid }, by(ADVERTISER));
  const query = { ...search, fid: [fid], q: [...search.q] };
  const found = dataOf(await api.searchProducts(query, by(PUBLISHER)));
  const [product] = found.products;
  const name: string | undefined = product?.name;
  const price: number | undefined = product?.offers[0]?.price;
  const second = await api.searchProducts({ fid: [fid], page: 2, pageSize: 1 }, by(PUBLISHER));
  const csv = await api.searchProductsAs('csv', { fid: [fid], csvSeparators: ';,:' }, by(PUBLISHER));
  const download = await api.downloadFeed({ fid }, by(PUBLISHER));
  const refused = await api.searchProducts({ fid: [fid], pageSize: 0 }, by(PUBLISHER));
  // @ts-expect-error -- a test of the types: compiling fails unless the client refuses a key that does not exist.
  await api.searchProducts({ fid: [fid], colour: 'red' }, by(PUBLISHER));
  // @ts-expect-error -- a test of the types: compiling fails unless the client requires fid.
  const missing = await api.searchProducts({}, by(PUBLISHER));

  const published = await api.postVoucher(voucher, undefined, by(VOUCHER_ADVERTISER));
  const id: number | undefined = dataOf(published)[0];
  const listed = await api.listVouchers(
    { id: [id ?? 0], voucherTypeId: [4, 5], siteSpecific: false },
    by(VOUCHER_PUBLISHER),
  );
  const title: string | undefined = dataOf(listed)[0]?.title;
  const removed = await api.deleteVoucher(id ?? 0, undefined, by(VOUCHER_ADVERTISER));

  const reporter = by(CONVERSION_ADVERTISER);
  const reported = await api.reportTransaction(transaction, undefined, reporter);
  const { orderNumber } = transaction;
  const [one] = dataOf(await api.listTransactions({ orderNumber: [orderNumber] }, reporter));
  await api.reportTransaction(exact, undefined, reporter);
  const [copy] = dataOf(await api.listTransactions({ orderNumber: [exact.orderNumber] }, reporter));

  return {
    posted: dataOf(posted).errors,
    found: [found.productHeader.totalHits, name, price],
    secondPage: dataOf(second).products.length,
    csv: columnsOf(csv.data),
    downloaded: dataOf(download).products.map((one) => one.name),
    refused: [refused.status, refused.status === 200 ? undefined : refused.data.errors[0]?.code],
    missing: missing.status === 200 ? undefined : missing.data.errors[0]?.message,
    voucher: [published.status, title],
    removed: removed.status,
    transaction: [reported.status, one?.orderValue, isOfNow(one?.timeOfEvent ?? '')],
    exact: exactOf(copy),
    claims: await useClaims(by(CLAIM_PUBLISHER), by(CLAIM_ADVERTISER)),
  };
}

// Its paths are relative, as in a page of the server.
const { fetch } = globalThis;
globalThis.fetch = (path, options) => fetch(`${BASE_URL}${String(path)}`, options);
void use().then((seen) => process.stdout.write(JSON.stringify(seen)));
