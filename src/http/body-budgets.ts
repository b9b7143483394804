import { type ServerResponse } from 'node:http';
import { FairBudget } from '../runtime/fair-queue';
import { type Fault } from '../kernel/fault';
import { httpFaults } from '../wire/api/errors';
import { type BodyCost } from './body-cost';
import { whenOver } from './requests-in-progress';

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 5;

/** Each budget, and its setting. */
const SETTINGS = { memory: 'BODY_MEMORY', space: 'BODY_SPACE' } as const;
type Resource = keyof typeof SETTINGS;

/**
 * What all bodies that are received or processed may use together, fair between tokens, and one large body beside it
 * (`docs/decisions.md#x100`).
 */
export class BodyBudgets {
  readonly memory: FairBudget;
  readonly space: FairBudget;
  /** The body that uses memory beside the budget: one at a time. */
  large: BodyShare | undefined;

  constructor({ memory, space }: BodyCost) {
    this.memory = new FairBudget(memory);
    this.space = new FairBudget(space);
  }
}

/** The part of the budgets that the body of one request uses, until its handler has ended and the answer is sent. */
export class BodyShare {
  private readonly used = { memory: 0, space: 0 };
  /** The part of it that the budgets count. */
  private readonly counted = { memory: 0, space: 0 };
  private isHandled = false;

  constructor(
    private readonly budgets: BodyBudgets,
    /** The hash of the token; known once the request is admitted. */
    private readonly client: () => string,
    private readonly response: ServerResponse,
  ) {}

  /**
   * Uses at least this much, for a body of at most `limit` bytes. Raises 503 if that is not free for the token now, 413
   * if it never is.
   */
  grow({ memory, space }: BodyCost, limit: number): void {
    this.use('memory', memory, this.budgets.memory.total + limit);
    this.use('space', space, this.budgets.space.most);
  }

  private use(resource: Resource, needed: number, most: number): void {
    const more = needed - this.used[resource];
    if (more <= 0) return;
    if (needed > most) throw tooMuch(resource, needed, most);
    if (this.budgets[resource].take(this.client(), more)) this.counted[resource] += more;
    else if (resource === 'memory' && this.mayBeLarge(needed)) this.budgets.large = this;
    else throw busy(resource);
    this.used[resource] = needed;
  }

  /** True if no other body is the large one, and this one needs more than all others of its token together. */
  private mayBeLarge(needed: number): boolean {
    const { memory, large } = this.budgets;
    if (large !== undefined) return large === this;
    return needed > memory.usedBy(this.client()) - this.counted.memory;
  }

  /** The handler of the request has returned, or failed: nothing is made of the body any more. */
  handled(): void {
    if (this.isHandled) return;
    this.isHandled = true;
    whenOver(this.response, () => this.release());
  }

  private release(): void {
    const { budgets, counted, used } = this;
    if (budgets.large === this) budgets.large = undefined;
    for (const resource of ['memory', 'space'] as const) {
      budgets[resource].give(this.client(), counted[resource]);
      counted[resource] = used[resource] = 0;
    }
  }
}

function busy(resource: Resource): Fault {
  return httpFaults.receiving(
    `the bodies that are being received, of this token or of all, use the ${resource} there is for them ` +
      `(${SETTINGS[resource]}): repeat the request in ${RETRY_AFTER} s`,
    { retryAfter: RETRY_AFTER },
  );
}

function tooMuch(resource: Resource, needed: number, most: number): Fault {
  return httpFaults.bodyTooLarge(
    `the body needs about ${needed} bytes of ${resource}, of which there are at most ${most} for it ` +
      `(${SETTINGS[resource]}): expected it in smaller parts`,
  );
}
