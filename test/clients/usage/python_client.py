# Uses a client of openapi-python-client. Prints what it gets as JSON.
import json
import os
from datetime import datetime, timezone

from generated import AuthenticatedClient
from generated.api.conversions import list_transactions, report_transaction
from generated.api.products import download_feed, load_products, search_products, search_products_as
from generated.api.vouchers import delete_voucher, list_vouchers, post_voucher
from generated.models import (
    ErrorList,
    PostedProducts,
    PostedTransaction,
    PostedVoucher,
    SearchProductsOrderBy,
)
from python_claims import use_claims

fid = int(os.environ["FEED"])
now = int(os.environ["NOW"])


def client_of(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ[token])


publisher = client_of("PUBLISHER")
product = {
    "sourceProductId": "made-1",
    "name": "Käse & Wein, 1/2",
    "description": "Posted by a generated client",
    "productUrl": "https://shop.example/made-1",
    "price": 12.5,
    "productImage": {"url": "https://img.example/made-1.jpg"},
    "categories": [{"id": os.environ["CATEGORY"], "name": "Own"}],
}
posted = load_products.sync(
    client=client_of("ADVERTISER"), fid=fid, body=PostedProducts.from_dict({"products": [product]})
)
found = search_products.sync(
    client=publisher,
    fid=[fid],
    q=["wein", "nothing"],
    min_price=12.5,
    price_history=True,
    order_by=SearchProductsOrderBy.PRICEASC,
    page=1,
    page_size=10,
)
second = search_products.sync(client=publisher, fid=[fid], page=2, page_size=1)
csv = search_products_as.sync_detailed("csv", client=publisher, fid=[fid], csv_separators=";,:")
download = download_feed.sync(client=publisher, fid=fid)
refused = search_products.sync_detailed(client=publisher, fid=[fid], page_size=0)
missing = search_products.sync(client=publisher, fid=[])

advertiser = client_of("VOUCHER_ADVERTISER")
voucher = {
    "title": "Made",
    "programId": 101,
    "voucherTypeId": 4,
    "shortDescription": "Made",
    "description": "Made by a generated client",
    "startDate": now,
    "endDate": now + 86_400_000,
}
published = post_voucher.sync_detailed(client=advertiser, body=PostedVoucher.from_dict(voucher))
[voucher_id] = published.parsed
listed = list_vouchers.sync(
    client=client_of("VOUCHER_PUBLISHER"), id=[voucher_id], voucher_type_id=[4, 5], site_specific=False
)
removed = delete_voucher.sync_detailed(voucher_id, client=advertiser)

reporter = client_of("CONVERSION_ADVERTISER")
transaction = PostedTransaction(
    program_id=101,
    event_id=17,
    site_id=1101,
    order_number=f"{os.environ['ORDER']}-reported",
    order_value=1234567.89,
)
reported = report_transaction.sync_detailed(client=reporter, body=transaction)
[one] = list_transactions.sync(client=reporter, order_number=[transaction.order_number])
exact = PostedTransaction(
    program_id=101,
    event_id=17,
    site_id=1101,
    order_number=f"{os.environ['ORDER']}-exact",
    order_value=12345678901.2345,
    currency_id="CLF",
    ad_id=2**53 - 1,
    time_of_event=datetime(2026, 2, 20, 9, 30, 0, 123_000, timezone.utc),
    epi="Größe 😀",
)
report_transaction.sync(client=reporter, body=exact)
[copy] = list_transactions.sync(client=reporter, order_number=[exact.order_number])
age = one.time_of_event - datetime.fromtimestamp(now / 1000, timezone.utc)

assert isinstance(missing, ErrorList)
seen = {
    "posted": [error.to_dict() for error in posted.errors],
    "found": [found.product_header.total_hits, found.products[0].name, found.products[0].offers[0].price],
    "secondPage": len(second.products),
    "csv": csv.content.decode()[:21],
    "downloaded": [one.name for one in download.products],
    "refused": [refused.status_code.value, refused.parsed.errors[0].code],
    "missing": missing.errors[0].message,
    "voucher": [published.status_code.value, listed[0].title],
    "removed": removed.status_code.value,
    "transaction": [reported.status_code.value, one.order_value, abs(age.total_seconds()) < 600],
    "exact": [copy.ad_id, copy.order_value, round(copy.time_of_event.timestamp() * 1000), copy.epi],
    "claims": use_claims(client_of("CLAIM_PUBLISHER"), client_of("CLAIM_ADVERTISER")),
}
print(json.dumps(seen, ensure_ascii=False))
