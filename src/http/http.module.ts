import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { Clock } from '../runtime/clock';
import { AnswerWriter } from './answer-writer';
import { FailureCounts, FailureFilter } from './failure-filter';
import { ReadQueue } from './read-queue';
import { RequestMetrics } from './request-metrics';
import { HttpParts } from './service';
import { WaitForReadModels } from './visible-writes';
import { AdmissionGuard } from './admission';

@Module({})
export class HttpModule {
  static with(parts: HttpParts, readModels: WaitForReadModels, clock: Clock): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: HttpParts, useValue: parts },
        { provide: WaitForReadModels, useValue: readModels },
        { provide: Clock, useValue: clock },
        AnswerWriter,
        ReadQueue,
        FailureCounts,
        RequestMetrics,
        { provide: APP_GUARD, useClass: AdmissionGuard },
        { provide: APP_FILTER, useClass: FailureFilter },
      ],
      exports: [HttpParts, WaitForReadModels, Clock, FailureCounts, RequestMetrics],
    };
  }
}
