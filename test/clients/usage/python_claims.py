# Uses a client of openapi-python-client for claims.
import os
from datetime import datetime, timedelta, timezone

from generated import AuthenticatedClient
from generated.api.claims import (
    check_claims,
    create_claims,
    delete_claim,
    list_claim_statuses,
    list_claim_versions,
    list_claims,
    update_claims,
)
from generated.api.claim_subscriptions import (
    create_claim_subscription,
    delete_claim_subscription,
    get_claim_subscription,
)
from generated.models import (
    ErrorList,
    ListClaimsSortBy,
    ListClaimsSortOrder,
    PostedClaims,
    PostedClaimSubscription,
    PostedClaimUpdates,
)
from generated.types import UNSET

now = datetime.fromtimestamp(int(os.environ["NOW"]) / 1000, timezone.utc)
day = (now - timedelta(days=1)).date()
orders = [f"{os.environ['ORDER']}-{name}" for name in ("approved", "rejected", "deleted")]


def claim_of(order_number: str, order_value: float = 100) -> dict:
    return {
        "affiliateSiteId": 1101,
        "programId": 101,
        "timeStampEvent": day.isoformat(),
        "eventId": 17,
        "orderNumber": order_number,
        "orderValue": order_value,
        "expectedCommission": 4.5,
    }


SUBSCRIPTION = {
    "filter": {"statusIds": [3, 201]},
    "receivers": [
        {
            "httpMethod": "POST",
            "receiverUrl": "https://shop.example/claims",
            "receiverBody": '{"claim": ${claimId}}',
            "receiverFormat": "JSON",
        }
    ],
}


def use_claims(publisher: AuthenticatedClient, advertiser: AuthenticatedClient) -> dict:
    """Returns what it gets."""

    def file(*claims: dict):
        body = PostedClaims.from_dict({"claims": list(claims)})
        return create_claims.sync_detailed(client=publisher, body=body)

    def update(client: AuthenticatedClient, *updates: dict):
        body = PostedClaimUpdates.from_dict({"claimUpdates": list(updates)})
        return update_claims.sync_detailed(client=client, body=body)

    single = file(claim_of(orders[0]))
    bulk = file(claim_of(orders[1]), claim_of(orders[2]))
    mismatched = claim_of("mismatched") | {"expectedCommission": 100}
    to_check = PostedClaims.from_dict({"claims": [claim_of("unfiled"), mismatched]})
    checked = check_claims.sync(client=publisher, body=to_check)
    listed = list_claims.sync_detailed(
        client=publisher,
        status_id=[2, 100],
        program_id=[101],
        min_transaction_date=day,
        sort_by=ListClaimsSortBy.CLAIMID,
        sort_order=ListClaimsSortOrder.DESC,
        limit=3,
    )
    deleted, rejected, approved = [claim.claim_id for claim in listed.parsed]

    revised = update(publisher, {**claim_of(orders[0], 80), "claimId": approved, "versionNo": 0})
    ruled = update(
        advertiser,
        {"claimId": approved, "versionNo": 1, "statusIdClaim": 3, "orderValue": 75, "expectedCommission": 5},
        {"claimId": rejected, "versionNo": 0, "statusIdClaim": 201, "statusMessageClaim": "Search"},
    )
    seen = list_claims.sync(client=advertiser, claim_id=[approved, rejected])
    versions = list_claim_versions.sync(approved, client=advertiser)
    removed = delete_claim.sync_detailed(deleted, client=publisher, version_no=0)
    gone = list_claim_versions.sync_detailed(deleted, client=publisher)
    statuses = list_claim_statuses.sync(client=advertiser)

    body = PostedClaimSubscription.from_dict(SUBSCRIPTION)
    created = create_claim_subscription.sync_detailed(client=publisher, body=body)
    subscription_id = created.parsed.subscription_id
    copy = get_claim_subscription.sync(subscription_id, client=publisher)
    ended = delete_claim_subscription.sync_detailed(subscription_id, client=publisher)

    duplicate = file(claim_of(orders[0], 80))
    missing = delete_claim.sync(rejected, client=publisher, version_no=UNSET)
    assert isinstance(duplicate.parsed, ErrorList) and isinstance(missing, ErrorList)
    return {
        "filed": [single.status_code.value, bulk.status_code.value],
        "checked": [check.status_id for check in checked],
        "listed": [orders.index(claim.order_number) for claim in listed.parsed],
        "total": "X-Total-Count" in listed.headers,
        "updated": [revised.status_code.value, ruled.status_code.value],
        "seen": [
            [
                claim.status_id,
                claim.status_message or "",
                claim.adjusted_order_value or 0,
                claim.version_no,
            ]
            for claim in seen
        ],
        "versions": [[version.by, version.version_no, version.order_value] for version in versions],
        "removed": [removed.status_code.value, gone.status_code.value, gone.parsed.errors[0].code],
        "statuses": [status.status_id for status in statuses if status.require_status_message],
        "subscription": [created.status_code.value, copy.filter_.status_ids, ended.status_code.value],
        "refused": [duplicate.status_code.value, duplicate.parsed.errors[0].code],
        "missing": missing.errors[0].code,
    }
