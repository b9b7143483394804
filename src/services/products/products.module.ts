import { type DynamicModule, Module } from '@nestjs/common';
import { Clock } from '../../runtime/clock';
import { defineService } from '../../http/service';
import { EventLog } from '../../kernel/event-log';
import {
  CountDownloadHandler,
  DeleteProductsHandler,
  LoadProductsHandler,
  type ProductLoader,
} from './commands';
import { DownloadPlans } from './download/plan';
import { RenderedFeeds } from './download/rendered-feeds';
import { DownloadCounter } from './download-counter';
import { DownloadsController, FeedsController, ProductsController } from './products.controller';
import { productFaults as fault, productFaultTable } from '../../domain/products/faults';
import { FeedQueries } from './feed.queries';
import { Loader } from './load/loader';
import { ProductQueries, ProductSettings } from './product.queries';
import { FeedRefusals } from '../../domain/products/feed-refusals';
import { keyFaults } from './keys';
import { productSchemas } from './operations';

/** The product service (Document 1). */
export const productService = defineService({
  system: 'PRODUCTS',
  modules: ['products', 'productsUnlimited', 'productCategories', 'categoryMappings', 'productFeeds'],
  description: {
    title: 'Products',
    description: 'Product feeds: loading, searching, downloading; categories, mappings, feeds.',
    faults: productFaultTable,
    schemas: productSchemas,
    errorSchema: 'ProductErrors_v1_0.xsd',
  },
  faults: {
    unusable: fault.illegalValue,
    unexpected: fault.unexpected,
    notAdmitted: fault.tokenRequestNotValid,
    tokenTwice: fault.tokenRequestNotValid,
    keys: keyFaults,
  },
});

/** The loader and the downloads, in this thread or others. */
export interface ProductParts {
  readonly loader: ProductLoader;
  readonly downloads: RenderedFeeds;
  readonly counter: DownloadCounter;
}

@Module({})
export class ProductsModule {
  static with(settings: ProductSettings, { loader, downloads, counter }: ProductParts): DynamicModule {
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
          useFactory: (clock: Clock, log: EventLog) => new FeedRefusals(clock, log),
          inject: [Clock, EventLog],
        },
        DownloadPlans,
        { provide: RenderedFeeds, useValue: downloads },
        { provide: DownloadCounter, useValue: counter },
      ],
    };
  }
}
