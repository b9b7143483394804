import { type ServerResponse } from 'node:http';
import { FairBudget } from '../kernel/fair-budget';
import { type Fault } from '../kernel/fault';
import { httpFaults } from '../wire/http-faults';
import { type BodyCost } from './body-cost';
import { whenOver } from './requests-in-progress';

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 5;

/** Each budget, and its setting. */
const SETTINGS = { memory: 'BODY_MEMORY', space: 'BODY_SPACE' } as const;
const RESOURCES = ['memory', 'space'] as const;

/** What all bodies that are received or processed may use together, fair between tokens (`docs/decisions.md#x100`). */
export class BodyBudgets {
  readonly memory: FairBudget;
  readonly space: FairBudget;

  constructor({ memory, space }: BodyCost) {
    this.memory = new FairBudget(memory);
    this.space = new FairBudget(space);
  }
}

/** The part of the budgets that the body of one request uses, until its handler has ended and the answer is sent. */
export class BodyShare {
  private held: { memory: number; space: number } = { memory: 0, space: 0 };
  private isHandled = false;

  constructor(
    private readonly budgets: BodyBudgets,
    /** The hash of the token; known once the request is admitted. */
    private readonly client: () => string,
    private readonly response: ServerResponse,
  ) {}

  /** Uses at least this much. Raises 503 if that is not free for the token now, 413 if it never is. */
  grow(cost: BodyCost): void {
    for (const resource of RESOURCES) {
      const budget = this.budgets[resource];
      const more = cost[resource] - this.held[resource];
      if (more <= 0) continue;
      if (cost[resource] > budget.most) throw tooMuch(resource, cost[resource], budget.most);
      if (!budget.take(this.client(), more)) throw busy(resource);
      this.held[resource] += more;
    }
  }

  /** The handler of the request has returned, or failed: nothing is made of the body any more. */
  handled(): void {
    if (this.isHandled) return;
    this.isHandled = true;
    whenOver(this.response, () => this.release());
  }

  private release(): void {
    for (const resource of RESOURCES) {
      this.budgets[resource].give(this.client(), this.held[resource]);
      this.held[resource] = 0;
    }
  }
}

function busy(resource: keyof typeof SETTINGS): Fault {
  return httpFaults.receiving(
    `the bodies that are being received, of this token or of all, use the ${resource} there is for them ` +
      `(${SETTINGS[resource]}): repeat the request in ${RETRY_AFTER} s`,
    { retryAfter: RETRY_AFTER },
  );
}

function tooMuch(resource: keyof typeof SETTINGS, needed: number, most: number): Fault {
  return httpFaults.bodyTooLarge(
    `the body needs about ${needed} bytes of ${resource}, of which a token has at most ${most} ` +
      `(${SETTINGS[resource]}): expected it in smaller parts`,
  );
}
