import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import {
  AuthenticationGuard,
  MinPositionGuard,
  NegotiationGuard,
  RateLimitGuard,
  RolesGuard,
  UnknownKeysGuard,
} from './guards';
import { AnswerWriter } from './answer-writer';
import { Clock } from '../runtime/clock';
import { FailureCounts, FailureFilter } from './failure-filter';
import { ReadQueue } from './read-queue';
import { RequestsInProgress } from './requests-in-progress';
import { HttpOptions } from './service';
import { WaitForReadModels } from './visible-writes';

/** In the order of their checks (`docs/decisions.md#a8`). ADR 17 says why the last two are not interceptors. */
const GUARDS: readonly Type[] = [
  AuthenticationGuard,
  RateLimitGuard,
  RolesGuard,
  UnknownKeysGuard,
  NegotiationGuard,
  MinPositionGuard,
];

/** What all services share: guards, answers, failures. */
@Module({})
export class HttpModule {
  static with(options: HttpOptions, readModels: WaitForReadModels, clock: Clock): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: HttpOptions, useValue: options },
        { provide: WaitForReadModels, useValue: readModels },
        { provide: Clock, useValue: clock },
        AnswerWriter,
        ReadQueue,
        RequestsInProgress,
        FailureCounts,
        ...GUARDS.map((useClass) => ({ provide: APP_GUARD, useClass })),
        { provide: APP_FILTER, useClass: FailureFilter },
      ],
      exports: [HttpOptions, WaitForReadModels, Clock, FailureCounts],
    };
  }
}
