// Uses a client of NSwag for claims.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Generated;

static class CsharpClaims
{
    static readonly DateTimeOffset Day =
        new DateTimeOffset(DateTimeOffset.FromUnixTimeMilliseconds(CsharpClient.Now).UtcDateTime.Date.AddDays(-1), TimeSpan.Zero);
    static readonly List<string> Orders =
        new[] { "approved", "rejected", "deleted" }.Select(name => CsharpClient.Order + "-" + name).ToList();

    static PostedClaim ClaimOf(string orderNumber, double orderValue, double expected = 4.5)
    {
        return new PostedClaim
        {
            AffiliateSiteId = 1101,
            ProgramId = 101,
            TimeStampEvent = Day,
            EventId = 17,
            OrderNumber = orderNumber,
            OrderValue = orderValue,
            ExpectedCommission = expected,
        };
    }

    static async Task<int> StatusOf(Client client, params PostedClaim[] claims)
    {
        return (await client.CreateClaimsAsync(new PostedClaims { Claims = claims })).StatusCode;
    }

    static async Task<int> StatusOf(Client client, params PostedClaimUpdate[] updates)
    {
        return (await client.UpdateClaimsAsync(new PostedClaimUpdates { ClaimUpdates = updates })).StatusCode;
    }

    /// <summary>Returns what it gets.</summary>
    public static async Task<Dictionary<string, object>> Use(Client publisher, Client advertiser)
    {
        var seen = new Dictionary<string, object>();
        seen["filed"] = new[]
        {
            await StatusOf(publisher, ClaimOf(Orders[0], 100)),
            await StatusOf(publisher, ClaimOf(Orders[1], 100), ClaimOf(Orders[2], 100)),
        };
        var toCheck = new PostedClaims
        {
            Claims = new[] { ClaimOf("unfiled", 100), ClaimOf("mismatched", 100, 100.0) },
        };
        seen["checked"] = (await publisher.CheckClaimsAsync(toCheck)).Result.Select(claim => claim.StatusId);
        var listed = await publisher.ListClaimsAsync(
            statusId: new long[] { 2, 100 },
            programId: new long[] { 101 },
            minTransactionDate: Day,
            sortBy: SortBy.ClaimId,
            sortOrder: SortOrder.Desc,
            limit: 3);
        var claims = listed.Result.ToList();
        seen["listed"] = claims.Select(claim => Orders.IndexOf(claim.OrderNumber));
        seen["total"] = listed.Headers.Keys.Any(name => name.ToLowerInvariant() == "x-total-count");
        long deleted = claims[0].ClaimId, rejected = claims[1].ClaimId, approved = claims[2].ClaimId;

        var update = new PostedClaimUpdate
        {
            ClaimId = approved,
            VersionNo = 0,
            AffiliateSiteId = 1101,
            ProgramId = 101,
            TimeStampEvent = Day,
            EventId = 17,
            OrderNumber = Orders[0],
            OrderValue = 80,
            ExpectedCommission = 4.5,
        };
        var approval = new PostedClaimUpdate
        {
            ClaimId = approved,
            VersionNo = 1,
            StatusIdClaim = 3,
            OrderValue = 75,
            ExpectedCommission = 5,
        };
        var rejection = new PostedClaimUpdate
        {
            ClaimId = rejected,
            VersionNo = 0,
            StatusIdClaim = 201,
            StatusMessageClaim = "Search",
        };
        seen["updated"] = new[] { await StatusOf(publisher, update), await StatusOf(advertiser, approval, rejection) };
        var states = await advertiser.ListClaimsAsync(claimId: new[] { approved, rejected });
        seen["seen"] = states.Result.Select(claim => new object[]
        {
            claim.StatusId,
            claim.StatusMessage ?? "",
            claim.AdjustedOrderValue ?? 0,
            claim.VersionNo,
        });
        var versions = await advertiser.ListClaimVersionsAsync(approved);
        seen["versions"] = versions.Result.Select(one => new object[]
        {
            one.By.ToString().ToLowerInvariant(),
            one.VersionNo,
            one.OrderValue,
        });
        var removed = await publisher.DeleteClaimAsync(deleted, 0);
        var gone = await CsharpClient.RefusalOf(() => publisher.ListClaimVersionsAsync(deleted));
        seen["removed"] = new object[] { removed.StatusCode, gone.StatusCode, gone.Result.Errors.First().Code };
        var statuses = await advertiser.ListClaimStatusesAsync();
        seen["statuses"] = statuses.Result.Where(one => one.RequireStatusMessage).Select(one => one.StatusId);

        var subscription = new PostedClaimSubscription
        {
            Filter = new PostedClaimSubscriptionFilter { StatusIds = new long[] { 3, 201 } },
            Receivers = new[]
            {
                new PostedClaimSubscriptionReceiver
                {
                    HttpMethod = PostedClaimSubscriptionReceiverHttpMethod.POST,
                    ReceiverUrl = "https://shop.example/claims",
                    ReceiverBody = "{\"claim\": ${claimId}}",
                    ReceiverFormat = "JSON",
                },
            },
        };
        var created = await publisher.CreateClaimSubscriptionAsync(subscription);
        var id = created.Result.SubscriptionId;
        var copy = await publisher.GetClaimSubscriptionAsync(id);
        var ended = await publisher.DeleteClaimSubscriptionAsync(id);
        seen["subscription"] = new object[] { created.StatusCode, copy.Result.Filter.StatusIds, ended.StatusCode };

        var duplicate = await CsharpClient.RefusalOf(() => StatusOf(publisher, ClaimOf(Orders[0], 80)));
        seen["refused"] = new object[] { duplicate.StatusCode, duplicate.Result.Errors.First().Code };
        return seen;
    }
}
