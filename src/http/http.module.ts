import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { AuthenticationGuard, NegotiationGuard, RolesGuard } from './admission.guards';
import { AnswerWriter } from './answer-writer';
import { Clock } from './clock';
import { FailureCounts, FailureFilter } from './failure-filter';
import { MinPositionGuard } from './min-position.guard';
import { RateLimitGuard } from './rate-limit.guard';
import { ReadQueue } from './read-queue';
import { RequestsInProgress } from './requests-in-progress';
import { HttpOptions } from './service';
import { UnknownKeysGuard } from './unknown-keys.guard';
import { WaitForReadModels } from './wait-for-read-models';

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
