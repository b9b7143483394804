import { type DynamicModule, Module } from '@nestjs/common';
import { Clock } from '../http/clock';
import { defineService } from '../http/service';
import { EventLog } from '../kernel/event-log';
import {
  CountDownloadHandler,
  DeleteProductsHandler,
  LoadProductsHandler,
  type ProductLoader,
} from './commands';
import { productDescription } from './description';
import { DownloadPlans } from './download/plan';
import { RenderedFeeds } from './download/rendered-feeds';
import { DownloadsController } from './downloads.controller';
import { productFaults as fault } from './faults';
import { FeedQueries } from './feed.queries';
import { FeedsController } from './feeds.controller';
import { Loader } from './load/loader';
import { ProductsController } from './products.controller';
import { ProductQueries, ProductSettings } from './queries';
import { FeedRefusals } from './refusals';
import { keyFaults } from './search-keys';

/** The product service (Document 1). */
export const productService = defineService({
  system: 'PRODUCTS',
  modules: ['products', 'productsUnlimited', 'productCategories', 'categoryMappings', 'productFeeds'],
  byAccept: ['csv'],
  description: productDescription,
  faults: {
    unusable: fault.illegalValue,
    unexpected: fault.unexpected,
    notAdmitted: fault.tokenRequestNotValid,
    tokenTwice: fault.tokenRequestNotValid,
    keys: keyFaults,
    body: { missingCharset: fault.noParsableContent },
  },
});

/** What does the work of the service: in other threads, where there are any. */
export interface ProductParts {
  readonly loader: ProductLoader;
  readonly feeds: RenderedFeeds;
}

@Module({})
export class ProductsModule {
  static with(settings: ProductSettings, { loader, feeds }: ProductParts): DynamicModule {
    return {
      module: ProductsModule,
      controllers: [ProductsController, DownloadsController, FeedsController],
      providers: [
        LoadProductsHandler,
        DeleteProductsHandler,
        CountDownloadHandler,
        ProductQueries,
        FeedQueries,
        { provide: ProductSettings, useValue: settings },
        { provide: Loader, useValue: loader },
        {
          provide: FeedRefusals,
          useFactory: (log: EventLog, clock: Clock) => new FeedRefusals(log, () => clock.now()),
          inject: [EventLog, Clock],
        },
        DownloadPlans,
        { provide: RenderedFeeds, useValue: feeds },
      ],
    };
  }
}
