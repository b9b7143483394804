/**
 * An amount that clients share: memory, disk space. A client may use as much as stays free, so one alone has at most half
 * of it, two a third each; whatever some clients use, a part is left for another one.
 */
export class FairBudget {
  private used = 0;
  private readonly byClient = new Map<string, number>();

  constructor(readonly total: number) {}

  /** As much as one client can ever use. */
  get most(): number {
    return Math.floor(this.total / 2);
  }

  usedBy(client: string): number {
    return this.byClient.get(client) ?? 0;
  }

  /** Takes an amount, or nothing of it: false if that is more than this client may use now. */
  take(client: string, amount: number): boolean {
    const own = this.usedBy(client) + amount;
    if (amount > 0 && own > this.total - this.used - amount) return false;
    this.add(client, amount);
    return true;
  }

  /** Gives back what was taken. */
  give(client: string, amount: number): void {
    this.add(client, -amount);
  }

  private add(client: string, amount: number): void {
    const own = this.usedBy(client) + amount;
    this.used += amount;
    if (own === 0) this.byClient.delete(client);
    else this.byClient.set(client, own);
  }
}
