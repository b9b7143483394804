import { type ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { FairBudget } from '../runtime/fair-queue';
import { httpFaults } from '../wire/api/errors';
import { HttpOptions } from './service';

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 1;

/** Calls back when an answer has been sent, or its connection is closed. */
export function whenOver(response: ServerResponse, onOver: () => void): void {
  // A connection that is closed already emits no further event. `finished` would cost ten times as much, for every
  // request.
  if (response.destroyed) onOver();
  else response.once('close', onOver);
}

/**
 * The requests of tokens that are being answered: each has a connection, which are shared as bodies share memory
 * (`docs/decisions.md#x101`).
 */
@Injectable()
export class RequestsInProgress {
  private readonly connections: FairBudget;

  constructor({ maxConnections }: HttpOptions) {
    this.connections = new FairBudget(maxConnections);
  }

  /** Counts a request of a token until it is answered. Raises 503 if the token has too many. */
  begin(client: string, response: ServerResponse): void {
    if (!this.connections.take(client, 1))
      throw httpFaults.overloaded(undefined, { retryAfter: RETRY_AFTER });
    whenOver(response, () => this.connections.give(client, 1));
  }
}
