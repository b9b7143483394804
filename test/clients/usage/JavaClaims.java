// Uses a client of openapi-generator for claims.
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ClaimSubscriptionsApi;
import org.openapitools.client.api.ClaimsApi;
import org.openapitools.client.model.CheckedClaim;
import org.openapitools.client.model.ClaimStatus;
import org.openapitools.client.model.PostedClaim;
import org.openapitools.client.model.PostedClaimSubscription;
import org.openapitools.client.model.PostedClaimSubscriptionFilter;
import org.openapitools.client.model.PostedClaimSubscriptionReceiver;
import org.openapitools.client.model.PostedClaimUpdate;
import org.openapitools.client.model.PostedClaimUpdates;
import org.openapitools.client.model.PostedClaims;

class JavaClaims {
    static final LocalDate DAY =
            Instant.ofEpochMilli(JavaClient.NOW).atZone(ZoneOffset.UTC).toLocalDate().minusDays(1);
    static final List<String> ORDERS =
            List.of("approved", "rejected", "deleted").stream().map(name -> JavaClient.ORDER + "-" + name).toList();

    static PostedClaim claimOf(String orderNumber, double orderValue) {
        return new PostedClaim()
                .affiliateSiteId(1101L)
                .programId(101L)
                .timeStampEvent(DAY)
                .eventId(17L)
                .orderNumber(orderNumber)
                .orderValue(orderValue)
                .expectedCommission(4.5);
    }

    static int statusOf(ClaimsApi client, PostedClaim... claims) throws ApiException {
        return client.createClaims(new PostedClaims().claims(List.of(claims))).executeWithHttpInfo().getStatusCode();
    }

    static int statusOf(ClaimsApi client, PostedClaimUpdate... updates) throws ApiException {
        var body = new PostedClaimUpdates().claimUpdates(List.of(updates));
        return client.updateClaims(body).executeWithHttpInfo().getStatusCode();
    }

    /** Returns what it gets. */
    static Map<String, Object> use(ApiClient ofPublisher, ApiClient ofAdvertiser) throws ApiException {
        ClaimsApi publisher = new ClaimsApi(ofPublisher);
        ClaimsApi advertiser = new ClaimsApi(ofAdvertiser);
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put(
                "filed",
                List.of(
                        statusOf(publisher, claimOf(ORDERS.get(0), 100)),
                        statusOf(publisher, claimOf(ORDERS.get(1), 100), claimOf(ORDERS.get(2), 100))));
        var toCheck = new PostedClaims()
                .addClaimsItem(claimOf("unfiled", 100))
                .addClaimsItem(claimOf("mismatched", 100).expectedCommission(100.0));
        seen.put(
                "checked",
                publisher.checkClaims(toCheck).execute().stream().map(CheckedClaim::getStatusId).toList());
        var listed = publisher.listClaims()
                .statusId(List.of(2L, 100L))
                .programId(List.of(101L))
                .minTransactionDate(DAY)
                .sortBy("claimId")
                .sortOrder("desc")
                .limit(3L)
                .executeWithHttpInfo();
        var claims = listed.getData();
        seen.put("listed", claims.stream().map(claim -> ORDERS.indexOf(claim.getOrderNumber())).toList());
        seen.put("total", listed.getHeaders().containsKey("x-total-count"));
        long deleted = claims.get(0).getClaimId();
        long rejected = claims.get(1).getClaimId();
        long approved = claims.get(2).getClaimId();

        PostedClaimUpdate update = new PostedClaimUpdate()
                .claimId(approved)
                .versionNo(0L)
                .affiliateSiteId(1101L)
                .programId(101L)
                .timeStampEvent(DAY)
                .eventId(17L)
                .orderNumber(ORDERS.get(0))
                .orderValue(80.0)
                .expectedCommission(4.5);
        PostedClaimUpdate approval = new PostedClaimUpdate()
                .claimId(approved)
                .versionNo(1L)
                .statusIdClaim(3L)
                .orderValue(75.0)
                .expectedCommission(5.0);
        PostedClaimUpdate rejection = new PostedClaimUpdate()
                .claimId(rejected)
                .versionNo(0L)
                .statusIdClaim(201L)
                .statusMessageClaim("Search");
        seen.put("updated", List.of(statusOf(publisher, update), statusOf(advertiser, approval, rejection)));
        List<Object> states = new ArrayList<>();
        for (var claim : advertiser.listClaims().claimId(List.of(approved, rejected)).execute()) {
            String message = claim.getStatusMessage();
            Double value = claim.getAdjustedOrderValue();
            states.add(List.of(
                    claim.getStatusId(),
                    message == null ? "" : message,
                    value == null ? 0 : value,
                    claim.getVersionNo()));
        }
        seen.put("seen", states);
        seen.put(
                "versions",
                advertiser.listClaimVersions(approved).execute().stream()
                        .map(one -> List.of(one.getBy().getValue(), one.getVersionNo(), one.getOrderValue()))
                        .toList());
        int removed = publisher.deleteClaim(deleted, 0L).executeWithHttpInfo().getStatusCode();
        var gone = JavaClient.refusalOf(() -> publisher.listClaimVersions(deleted).execute());
        seen.put("removed", List.of(removed, gone.getCode(), JavaClient.errorOf(gone).getCode()));
        seen.put(
                "statuses",
                advertiser.listClaimStatuses().execute().stream()
                        .filter(ClaimStatus::getRequireStatusMessage)
                        .map(ClaimStatus::getStatusId)
                        .toList());

        ClaimSubscriptionsApi subscriptions = new ClaimSubscriptionsApi(ofPublisher);
        PostedClaimSubscription subscription = new PostedClaimSubscription()
                .filter(new PostedClaimSubscriptionFilter().statusIds(List.of(3L, 201L)))
                .addReceiversItem(new PostedClaimSubscriptionReceiver()
                        .httpMethod(PostedClaimSubscriptionReceiver.HttpMethodEnum.POST)
                        .receiverUrl("https://shop.example/claims")
                        .receiverBody("{\"claim\": ${claimId}}")
                        .receiverFormat("JSON"));
        var created = subscriptions.createClaimSubscription(subscription).executeWithHttpInfo();
        String id = created.getData().getSubscriptionId();
        var copy = subscriptions.getClaimSubscription(id).execute();
        int ended = subscriptions.deleteClaimSubscription(id).executeWithHttpInfo().getStatusCode();
        seen.put(
                "subscription", List.of(created.getStatusCode(), copy.getFilter().getStatusIds(), ended));

        var duplicate = JavaClient.refusalOf(() -> statusOf(publisher, claimOf(ORDERS.get(0), 80)));
        seen.put("refused", List.of(duplicate.getCode(), JavaClient.errorOf(duplicate).getCode()));
        return seen;
    }
}
