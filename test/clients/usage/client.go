// Uses a client of oapi-codegen. Prints what it gets as JSON.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"time"

	"clients/generated"
)

var (
	ctx   = context.Background()
	order = os.Getenv("ORDER")
	now   = number("NOW")
	feed  = number("FEED")
)

func main() {
	publisher := clientOf("PUBLISHER")
	category, own := os.Getenv("CATEGORY"), "Own"
	product := generated.PostedProduct{
		SourceProductId: "made-1",
		Name:            "Käse & Wein, 1/2",
		Description:     "Posted by a generated client",
		ProductUrl:      "https://shop.example/made-1",
		Price:           12.5,
		ProductImage:    generated.PostedProductImage{Url: "https://img.example/made-1.jpg"},
		Categories:      []generated.PostedProductCategory{{Id: &category, Name: &own}},
	}
	posted := must(clientOf("ADVERTISER").LoadProductsWithResponse(
		ctx, &generated.LoadProductsParams{Fid: feed}, generated.PostedProducts{Products: []generated.PostedProduct{product}}))

	find := func(params generated.SearchProductsParams) *generated.SearchProductsResponse {
		params.Fid = []int64{feed}
		return must(publisher.SearchProductsWithResponse(ctx, &params))
	}
	found := find(generated.SearchProductsParams{
		Q:            &[]string{"wein", "nothing"},
		MinPrice:     to(12.5),
		PriceHistory: to(true),
		OrderBy:      to(generated.SearchProductsParamsOrderByPriceAsc),
		Page:         to(int64(1)),
		PageSize:     to(int64(10)),
	}).JSON200
	second := find(generated.SearchProductsParams{Page: to(int64(2)), PageSize: to(int64(1))}).JSON200
	csv := must(publisher.SearchProductsAsWithResponse(
		ctx, "csv", &generated.SearchProductsAsParams{Fid: []int64{feed}, CsvSeparators: to(";,:")}))
	download := must(publisher.DownloadFeedWithResponse(ctx, &generated.DownloadFeedParams{Fid: feed})).JSON200
	names := []string{}
	for _, one := range download.Products {
		names = append(names, one.Name)
	}
	refused := find(generated.SearchProductsParams{PageSize: to(int64(0))})
	missing := must(publisher.SearchProductsWithResponse(ctx, &generated.SearchProductsParams{}))

	advertiser := clientOf("VOUCHER_ADVERTISER")
	published := must(advertiser.PostVoucherWithResponse(ctx, &generated.PostVoucherParams{}, generated.PostedVoucher{
		Title:            "Made",
		ProgramId:        101,
		VoucherTypeId:    4,
		ShortDescription: "Made",
		Description:      "Made by a generated client",
		StartDate:        now,
		EndDate:          now + 86_400_000,
	}))
	id := (*published.JSON200)[0]
	listed := must(clientOf("VOUCHER_PUBLISHER").ListVouchersWithResponse(ctx, &generated.ListVouchersParams{
		Id:            &[]int64{id},
		VoucherTypeId: &[]int64{4, 5},
		SiteSpecific:  to(false),
	}))
	removed := must(advertiser.DeleteVoucherWithResponse(ctx, id, &generated.DeleteVoucherParams{}))

	first := found.Products[0]
	print(map[string]any{
		"posted":      posted.JSON200.Errors,
		"found":       []any{found.ProductHeader.TotalHits, first.Name, first.Offers[0].Price},
		"secondPage":  len(second.Products),
		"csv":         string(csv.Body)[:21],
		"downloaded":  names,
		"refused":     []any{refused.StatusCode(), refused.JSON400.Errors[0].Code},
		"missing":     missing.JSON400.Errors[0].Message,
		"voucher":     []any{published.StatusCode(), (*listed.JSON200)[0].Title},
		"removed":     removed.StatusCode(),
		"transaction": useTransactions(clientOf("CONVERSION_ADVERTISER")),
		"exact":       useExact(clientOf("CONVERSION_ADVERTISER")),
		"claims":      useClaims(clientOf("CLAIM_PUBLISHER"), clientOf("CLAIM_ADVERTISER")),
	})
}

func useTransactions(advertiser *generated.ClientWithResponses) []any {
	transaction := generated.PostedTransaction{
		ProgramId: 101, EventId: 17, SiteId: 1101, OrderNumber: order + "-reported", OrderValue: to(1234567.89),
	}
	reported := must(advertiser.ReportTransactionWithResponse(
		ctx, &generated.ReportTransactionParams{}, transaction))
	listed := must(advertiser.ListTransactionsWithResponse(
		ctx, &generated.ListTransactionsParams{OrderNumber: &[]string{transaction.OrderNumber}}))
	one := (*listed.JSON200)[0]
	isOfNow := one.TimeOfEvent.Sub(time.UnixMilli(now)).Abs() < 10*time.Minute
	return []any{reported.StatusCode(), one.OrderValue, isOfNow}
}

func useExact(advertiser *generated.ClientWithResponses) []any {
	transaction := generated.PostedTransaction{
		ProgramId: 101, EventId: 17, SiteId: 1101, OrderNumber: order + "-exact", OrderValue: to(12345678901.2345),
		CurrencyId: to("CLF"), AdId: to(int64(9007199254740991)),
		TimeOfEvent: to(time.UnixMilli(1771579800123).UTC()), Epi: to("Größe 😀"),
	}
	must(advertiser.ReportTransactionWithResponse(ctx, &generated.ReportTransactionParams{}, transaction))
	listed := must(advertiser.ListTransactionsWithResponse(
		ctx, &generated.ListTransactionsParams{OrderNumber: &[]string{transaction.OrderNumber}}))
	one := (*listed.JSON200)[0]
	return []any{one.AdId, one.OrderValue, one.TimeOfEvent.UnixMilli(), one.Epi}
}

func clientOf(token string) *generated.ClientWithResponses {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv(token))
		return nil
	}
	return must(generated.NewClientWithResponses(
		os.Getenv("BASE_URL"), generated.WithRequestEditorFn(authorize)))
}

func print(seen any) {
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}

func number(name string) int64 {
	return must(strconv.ParseInt(os.Getenv(name), 10, 64))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func to[T any](value T) *T {
	return &value
}
