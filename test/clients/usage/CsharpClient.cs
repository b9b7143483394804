// Uses a client of NSwag (C#, one class, `wrapResponses`). Prints what it gets as JSON.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading.Tasks;
using Generated;
using Newtonsoft.Json;

static class CsharpClient
{
    public static readonly string Order = Environment.GetEnvironmentVariable("ORDER");
    public static readonly long Now = long.Parse(Environment.GetEnvironmentVariable("NOW"), CultureInfo.InvariantCulture);
    static readonly long Feed = long.Parse(Environment.GetEnvironmentVariable("FEED"), CultureInfo.InvariantCulture);

    public static Client ClientOf(string token)
    {
        var http = new HttpClient();
        var value = Environment.GetEnvironmentVariable(token);
        http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", value);
        return new Client(http) { BaseUrl = Environment.GetEnvironmentVariable("BASE_URL") };
    }

    /// <summary>The failure of a call that has to be refused.</summary>
    public static async Task<ApiException<ErrorList>> RefusalOf(Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (ApiException<ErrorList> refusal)
        {
            return refusal;
        }
        throw new InvalidOperationException("it was not refused");
    }

    static void Main()
    {
        Console.OutputEncoding = new UTF8Encoding(false);
        Console.WriteLine(JsonConvert.SerializeObject(Use().GetAwaiter().GetResult()));
    }

    static async Task<Dictionary<string, object>> Use()
    {
        var publisher = ClientOf("PUBLISHER");
        var product = new PostedProduct
        {
            SourceProductId = "made-1",
            Name = "Käse & Wein, 1/2",
            Description = "Posted by a generated client",
            ProductUrl = "https://shop.example/made-1",
            Price = 12.5,
            ProductImage = new PostedProductImage { Url = "https://img.example/made-1.jpg" },
        };
        product.Categories.Add(
            new PostedProductCategory { Id = Environment.GetEnvironmentVariable("CATEGORY"), Name = "Own" });
        var products = new PostedProducts();
        products.Products.Add(product);
        var feeds = new[] { Feed };
        var posted = await ClientOf("ADVERTISER").LoadProductsAsync(Feed, products);
        var found = await publisher.SearchProductsAsync(
            feeds,
            q: new[] { "wein", "nothing" },
            minPrice: 12.5,
            priceHistory: true,
            orderBy: OrderBy.PriceAsc,
            page: 1,
            pageSize: 10);
        var second = await publisher.SearchProductsAsync(feeds, page: 2, pageSize: 1);
        var downloaded = await publisher.DownloadFeedAsync(Feed);
        var refused = await RefusalOf(() => publisher.SearchProductsAsync(feeds, pageSize: 0));
        var missing = await RefusalOf(() => publisher.SearchProductsAsync(new long[0]));

        var advertiser = ClientOf("VOUCHER_ADVERTISER");
        var voucher = new PostedVoucher
        {
            Title = "Made",
            ProgramId = 101,
            VoucherTypeId = 4,
            ShortDescription = "Made",
            Description = "Made by a generated client",
            StartDate = Now,
            EndDate = Now + 86400000,
        };
        var published = await advertiser.PostVoucherAsync(voucher);
        var id = published.Result.First();
        var listed = await ClientOf("VOUCHER_PUBLISHER")
            .ListVouchersAsync(id: new[] { id }, voucherTypeId: new long[] { 4, 5 }, siteSpecific: false);
        var removed = await advertiser.DeleteVoucherAsync(id);

        var first = found.Result.Products.First();
        return new Dictionary<string, object>
        {
            ["posted"] = posted.Result.Errors,
            ["found"] = new object[]
            {
                found.Result.ProductHeader.TotalHits,
                first.Name,
                first.Offers.First().Price,
            },
            ["secondPage"] = second.Result.Products.Count,
            ["downloaded"] = downloaded.Result.Products.Select(one => one.Name),
            ["refused"] = new object[] { refused.StatusCode, refused.Result.Errors.First().Code },
            ["missing"] = missing.Result.Errors.First().Message,
            ["voucher"] = new object[] { published.StatusCode, listed.Result.First().Title },
            ["removed"] = removed.StatusCode,
            ["transaction"] = await UseTransactions(),
            ["exact"] = await UseExact(),
            ["claims"] = await CsharpClaims.Use(ClientOf("CLAIM_PUBLISHER"), ClientOf("CLAIM_ADVERTISER")),
        };
    }

    static async Task<object[]> UseExact()
    {
        var advertiser = ClientOf("CONVERSION_ADVERTISER");
        var transaction = new PostedTransaction
        {
            ProgramId = 101,
            EventId = 17,
            SiteId = 1101,
            OrderNumber = Order + "-exact",
            OrderValue = 12345678901.2345,
            CurrencyId = "CLF",
            AdId = 9007199254740991,
            TimeOfEvent = DateTimeOffset.FromUnixTimeMilliseconds(1771579800123),
            Epi = "Größe 😀",
        };
        await advertiser.ReportTransactionAsync(transaction);
        var listed = await advertiser.ListTransactionsAsync(orderNumber: new[] { Order + "-exact" });
        var one = listed.Result.First();
        return new object[] { one.AdId, one.OrderValue, one.TimeOfEvent.ToUnixTimeMilliseconds(), one.Epi };
    }

    static async Task<object[]> UseTransactions()
    {
        var advertiser = ClientOf("CONVERSION_ADVERTISER");
        var transaction = new PostedTransaction
        {
            ProgramId = 101,
            EventId = 17,
            SiteId = 1101,
            OrderNumber = Order + "-reported",
            OrderValue = 1234567.89,
        };
        var reported = await advertiser.ReportTransactionAsync(transaction);
        var listed = await advertiser.ListTransactionsAsync(orderNumber: new[] { Order + "-reported" });
        var first = listed.Result.First();
        var isOfNow = Math.Abs(first.TimeOfEvent.ToUnixTimeMilliseconds() - Now) < 600000;
        return new object[] { reported.StatusCode, first.OrderValue, isOfNow };
    }
}
