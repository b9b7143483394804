// Uses a client of oapi-codegen for claims.
package main

import (
	"slices"
	"time"

	"clients/generated"

	"github.com/oapi-codegen/runtime/types"
)

var (
	day    = types.Date{Time: time.UnixMilli(now).UTC().AddDate(0, 0, -1)}
	orders = []string{order + "-approved", order + "-rejected", order + "-deleted"}
)

func claimOf(orderNumber string, orderValue float64) generated.PostedClaim {
	return generated.PostedClaim{
		AffiliateSiteId:    1101,
		ProgramId:          101,
		TimeStampEvent:     day,
		EventId:            17,
		OrderNumber:        orderNumber,
		OrderValue:         orderValue,
		ExpectedCommission: to(4.5),
	}
}

// Returns what it gets.
func useClaims(publisher, advertiser *generated.ClientWithResponses) map[string]any {
	file := func(claims ...generated.PostedClaim) *generated.CreateClaimsResponse {
		return must(publisher.CreateClaimsWithResponse(
			ctx, &generated.CreateClaimsParams{}, generated.PostedClaims{Claims: claims}))
	}
	update := func(client *generated.ClientWithResponses, updates ...generated.PostedClaimUpdate) int {
		return must(client.UpdateClaimsWithResponse(
			ctx, &generated.UpdateClaimsParams{}, generated.PostedClaimUpdates{ClaimUpdates: updates})).StatusCode()
	}

	single := file(claimOf(orders[0], 100))
	bulk := file(claimOf(orders[1], 100), claimOf(orders[2], 100))
	mismatched := claimOf("mismatched", 100)
	mismatched.ExpectedCommission = to(100.0)
	checks := must(publisher.CheckClaimsWithResponse(ctx, &generated.CheckClaimsParams{},
		generated.PostedClaims{Claims: []generated.PostedClaim{claimOf("unfiled", 100), mismatched}}))
	checked := []int64{}
	for _, check := range *checks.JSON200 {
		checked = append(checked, check.StatusId)
	}
	list := must(publisher.ListClaimsWithResponse(ctx, &generated.ListClaimsParams{
		StatusId:           &[]int64{2, 100},
		ProgramId:          &[]int64{101},
		MinTransactionDate: &day,
		SortBy:             to(generated.ListClaimsParamsSortByClaimId),
		SortOrder:          to(generated.ListClaimsParamsSortOrderDesc),
		Limit:              to(int64(3)),
	}))
	listed, ids := []int{}, []int64{}
	for _, claim := range *list.JSON200 {
		listed = append(listed, slices.Index(orders, claim.OrderNumber))
		ids = append(ids, claim.ClaimId)
	}
	deleted, rejected, approved := ids[0], ids[1], ids[2]

	revision := generated.PostedClaimUpdate{
		ClaimId: approved, VersionNo: 0, AffiliateSiteId: to(int64(1101)), ProgramId: to(int64(101)), TimeStampEvent: &day,
		EventId: to(int64(17)), OrderNumber: &orders[0], OrderValue: to(80.0), ExpectedCommission: to(4.5),
	}
	approval := generated.PostedClaimUpdate{
		ClaimId: approved, VersionNo: 1, StatusIdClaim: to(int64(3)), OrderValue: to(75.0), ExpectedCommission: to(5.0),
	}
	rejection := generated.PostedClaimUpdate{
		ClaimId: rejected, VersionNo: 0, StatusIdClaim: to(int64(201)), StatusMessageClaim: to("Search"),
	}
	updated := []int{update(publisher, revision), update(advertiser, approval, rejection)}
	seen := [][]any{}
	both := must(advertiser.ListClaimsWithResponse(
		ctx, &generated.ListClaimsParams{ClaimId: &[]int64{approved, rejected}}))
	for _, claim := range *both.JSON200 {
		seen = append(seen, []any{claim.StatusId, or(claim.StatusMessage), or(claim.AdjustedOrderValue), claim.VersionNo})
	}
	versions := [][]any{}
	history := must(advertiser.ListClaimVersionsWithResponse(ctx, approved, &generated.ListClaimVersionsParams{}))
	for _, version := range *history.JSON200 {
		versions = append(versions, []any{version.By, version.VersionNo, version.OrderValue})
	}
	removed := must(publisher.DeleteClaimWithResponse(ctx, deleted, &generated.DeleteClaimParams{VersionNo: 0}))
	gone := must(publisher.ListClaimVersionsWithResponse(ctx, deleted, &generated.ListClaimVersionsParams{}))
	statuses := []int64{}
	all := must(advertiser.ListClaimStatusesWithResponse(ctx, &generated.ListClaimStatusesParams{}))
	for _, status := range *all.JSON200 {
		if status.RequireStatusMessage {
			statuses = append(statuses, status.StatusId)
		}
	}

	created := must(publisher.CreateClaimSubscriptionWithResponse(
		ctx, &generated.CreateClaimSubscriptionParams{}, generated.PostedClaimSubscription{
			Filter: generated.PostedClaimSubscriptionFilter{StatusIds: []int64{3, 201}},
			Receivers: []generated.PostedClaimSubscriptionReceiver{{
				HttpMethod:     generated.PostedClaimSubscriptionReceiverHttpMethodPOST,
				ReceiverUrl:    "https://shop.example/claims",
				ReceiverBody:   to(`{"claim": ${claimId}}`),
				ReceiverFormat: to("JSON"),
			}},
		}))
	id := created.JSON201.SubscriptionId
	subscription := must(publisher.GetClaimSubscriptionWithResponse(ctx, id, &generated.GetClaimSubscriptionParams{}))
	ended := must(publisher.DeleteClaimSubscriptionWithResponse(ctx, id, &generated.DeleteClaimSubscriptionParams{}))

	duplicate := file(claimOf(orders[0], 80))
	return map[string]any{
		"filed":        []int{single.StatusCode(), bulk.StatusCode()},
		"checked":      checked,
		"listed":       listed,
		"total":        list.HTTPResponse.Header.Get("X-Total-Count") != "",
		"updated":      updated,
		"seen":         seen,
		"versions":     versions,
		"removed":      []any{removed.StatusCode(), gone.StatusCode(), gone.JSON404.Errors[0].Code},
		"statuses":     statuses,
		"subscription": []any{created.StatusCode(), subscription.JSON200.Filter.StatusIds, ended.StatusCode()},
		"refused":      []any{duplicate.StatusCode(), duplicate.JSON409.Errors[0].Code},
	}
}

// The value, or the zero value of its type.
func or[T any](value *T) (found T) {
	if value != nil {
		found = *value
	}
	return found
}
