// Uses a client of openapi-generator for Java. Prints what it gets as JSON.
import com.google.gson.Gson;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ConversionsApi;
import org.openapitools.client.api.ProductsApi;
import org.openapitools.client.api.VouchersApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.ErrorList;
import org.openapitools.client.model.ErrorListError;
import org.openapitools.client.model.FoundProducts;
import org.openapitools.client.model.PostedProduct;
import org.openapitools.client.model.PostedProductCategory;
import org.openapitools.client.model.PostedProductImage;
import org.openapitools.client.model.PostedProducts;
import org.openapitools.client.model.PostedTransaction;
import org.openapitools.client.model.PostedVoucher;
import org.openapitools.client.model.Product;

public class JavaClient {
    static final String ORDER = System.getenv("ORDER");
    static final long NOW = Long.parseLong(System.getenv("NOW"));
    static final long FEED = Long.parseLong(System.getenv("FEED"));

    interface Call {
        void make() throws ApiException;
    }

    static ApiClient clientOf(String token) {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("BASE_URL"));
        // A client has a token for each system: only that of the called one is sent.
        for (var authentication : client.getAuthentications().values())
            ((HttpBearerAuth) authentication).setBearerToken(System.getenv(token));
        return client;
    }

    /** The failure of a call that has to be refused. */
    static ApiException refusalOf(Call call) {
        try {
            call.make();
        } catch (ApiException refusal) {
            return refusal;
        }
        throw new IllegalStateException("it was not refused");
    }

    static ErrorListError errorOf(ApiException refusal) {
        return new Gson().fromJson(refusal.getResponseBody(), ErrorList.class).getErrors().get(0);
    }

    public static void main(String[] arguments) throws ApiException {
        ProductsApi publisher = new ProductsApi(clientOf("PUBLISHER"));
        PostedProduct product = new PostedProduct()
                .sourceProductId("made-1")
                .name("Käse & Wein, 1/2")
                .description("Posted by a generated client")
                .productUrl("https://shop.example/made-1")
                .price(12.5)
                .productImage(new PostedProductImage().url("https://img.example/made-1.jpg"))
                .addCategoriesItem(new PostedProductCategory().id(System.getenv("CATEGORY")).name("Own"));
        ErrorList posted = new ProductsApi(clientOf("ADVERTISER"))
                .loadProducts(FEED, new PostedProducts().addProductsItem(product))
                .execute();
        FoundProducts found = publisher.searchProducts(List.of(FEED))
                .q(List.of("wein", "nothing"))
                .minPrice(12.5)
                .priceHistory(true)
                .orderBy("priceAsc")
                .page(1L)
                .pageSize(10L)
                .execute();
        FoundProducts second = publisher.searchProducts(List.of(FEED)).page(2L).pageSize(1L).execute();
        String csv = publisher.searchProductsAs("csv", List.of(FEED)).csvSeparators(";,:").execute();
        List<String> downloaded =
                publisher.downloadFeed(FEED).execute().getProducts().stream().map(Product::getName).toList();
        ApiException refused = refusalOf(() -> publisher.searchProducts(List.of(FEED)).pageSize(0L).execute());
        ApiException missing = refusalOf(() -> publisher.searchProducts(List.of()).execute());

        VouchersApi advertiser = new VouchersApi(clientOf("VOUCHER_ADVERTISER"));
        PostedVoucher voucher = new PostedVoucher()
                .title("Made")
                .programId(101L)
                .voucherTypeId(4L)
                .shortDescription("Made")
                .description("Made by a generated client")
                .startDate(NOW)
                .endDate(NOW + 86_400_000);
        var published = advertiser.postVoucher(voucher).executeWithHttpInfo();
        long id = published.getData().get(0);
        var listed = new VouchersApi(clientOf("VOUCHER_PUBLISHER"))
                .listVouchers()
                .id(List.of(id))
                .voucherTypeId(List.of(4L, 5L))
                .siteSpecific(false)
                .execute();
        int removed = advertiser.deleteVoucher(id).executeWithHttpInfo().getStatusCode();

        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("posted", posted.getErrors());
        Product first = found.getProducts().get(0);
        seen.put(
                "found",
                List.of(
                        found.getProductHeader().getTotalHits(),
                        first.getName(),
                        first.getOffers().get(0).getPrice()));
        seen.put("secondPage", second.getProducts().size());
        seen.put("csv", csv.substring(0, 21));
        seen.put("downloaded", downloaded);
        seen.put("refused", List.of(refused.getCode(), errorOf(refused).getCode()));
        seen.put("missing", errorOf(missing).getMessage());
        seen.put("voucher", List.of(published.getStatusCode(), listed.get(0).getTitle()));
        seen.put("removed", removed);
        seen.put("transaction", useTransactions());
        seen.put("exact", useExact());
        seen.put("claims", JavaClaims.use(clientOf("CLAIM_PUBLISHER"), clientOf("CLAIM_ADVERTISER")));
        System.out.println(new Gson().toJson(seen));
        System.exit(0);
    }

    static List<Object> useExact() throws ApiException {
        ConversionsApi advertiser = new ConversionsApi(clientOf("CONVERSION_ADVERTISER"));
        PostedTransaction transaction = new PostedTransaction()
                .programId(101L)
                .eventId(17L)
                .siteId(1101L)
                .orderNumber(ORDER + "-exact")
                .orderValue(12345678901.2345)
                .currencyId("CLF")
                .adId(9007199254740991L)
                .timeOfEvent(OffsetDateTime.parse("2026-02-20T09:30:00.123Z"))
                .epi("Größe 😀");
        advertiser.reportTransaction(transaction).execute();
        var one = advertiser.listTransactions().orderNumber(List.of(ORDER + "-exact")).execute().get(0);
        long time = one.getTimeOfEvent().toInstant().toEpochMilli();
        return List.of(one.getAdId(), one.getOrderValue(), time, one.getEpi());
    }

    static List<Object> useTransactions() throws ApiException {
        ConversionsApi advertiser = new ConversionsApi(clientOf("CONVERSION_ADVERTISER"));
        PostedTransaction transaction = new PostedTransaction()
                .programId(101L)
                .eventId(17L)
                .siteId(1101L)
                .orderNumber(ORDER + "-reported")
                .orderValue(1234567.89);
        int status = advertiser.reportTransaction(transaction).executeWithHttpInfo().getStatusCode();
        var listed = advertiser.listTransactions().orderNumber(List.of(ORDER + "-reported")).execute();
        boolean isOfNow = Math.abs(listed.get(0).getTimeOfEvent().toInstant().toEpochMilli() - NOW) < 600_000;
        return List.of(status, listed.get(0).getOrderValue(), isOfNow);
    }
}
