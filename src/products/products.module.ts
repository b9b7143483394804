import { type DynamicModule, Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../http/clock';
import { type Service } from '../http/service';
import { EventLog } from '../kernel/event-log';
import { httpFaults } from '../wire/open-api';
import {
  CountDownloadHandler,
  DeleteProductsHandler,
  LoadProductsHandler,
  PRODUCT_LOADER,
  type ProductLoader,
} from './commands';
import { productDescription } from './description';
import { DownloadPlans } from './download/plan';
import { RenderedFeeds } from './download/rendered-feeds';
import { DownloadsController } from './downloads.controller';
import { productFaults as fault } from './faults';
import { FeedQueries } from './feed.queries';
import { FeedsController } from './feeds.controller';
import { ImportsController } from './imports.controller';
import { ProductsController } from './products.controller';
import { PRODUCT_SETTINGS, ProductQueries, type ProductSettings } from './queries';
import { FeedRefusals } from './refusals';
import { keyFaults } from './search-keys';

/** The product service as the shared HTTP glue knows it (Document 1). */
export const productService: Service = {
  system: 'PRODUCTS',
  modules: ['products', 'productsUnlimited', 'productCategories', 'categoryMappings', 'productFeeds'],
  namespace: '/1.0/products',
  byAccept: ['csv'],
  keyFaults,
  description: productDescription,
  bodyFaults: {
    type: httpFaults.unsupportedType,
    charset: httpFaults.unsupportedType,
    missingCharset: fault.noParsableContent,
  },
  faults: {
    unexpected: fault.unexpected,
    notAdmitted: fault.tokenRequestNotValid,
    tokenTwice: fault.tokenRequestNotValid,
  },
};

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
      controllers: [ProductsController, DownloadsController, FeedsController, ImportsController],
      providers: [
        LoadProductsHandler,
        DeleteProductsHandler,
        CountDownloadHandler,
        ProductQueries,
        FeedQueries,
        { provide: PRODUCT_SETTINGS, useValue: settings },
        { provide: PRODUCT_LOADER, useValue: loader },
        {
          provide: FeedRefusals,
          useFactory: (log: EventLog, now: Clock) => new FeedRefusals(log, now),
          inject: [EventLog, CLOCK],
        },
        DownloadPlans,
        { provide: RenderedFeeds, useValue: feeds },
      ],
    };
  }
}
