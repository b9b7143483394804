/**
 * Bytes of the messages to an organisation about one event: `most` that are sent, and `stored` of them that are stored with their
 * bytes.
 */
export interface BudgetLimits {
  readonly most: number;
  readonly stored: number;
}

/** `docs/decisions.md#n15`. */
export const MESSAGE_BYTES: BudgetLimits = { most: 16 * 1024 * 1024, stored: 256 * 1024 };

/**
 * What the messages to an organisation about one event may take, in their order. What is not stored is rendered when it is sent;
 * after the first message that is beyond the budget there are no others, so that none of them has to be rendered.
 */
export class ByteBudget {
  private taken = 0;
  private storedBytes = 0;
  private isOver = false;

  constructor(private readonly limits: BudgetLimits = MESSAGE_BYTES) {}

  get isSpent(): boolean {
    return this.isOver;
  }

  /** Takes the bytes of the next message. */
  take(bytes: number): 'stored' | 'not stored' | 'beyond' {
    this.isOver ||= this.taken + bytes > this.limits.most;
    if (this.isOver) return 'beyond';
    this.taken += bytes;
    if (this.storedBytes + bytes > this.limits.stored) return 'not stored';
    this.storedBytes += bytes;
    return 'stored';
  }
}
