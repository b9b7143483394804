/** A posted product, as far as the steps vary it; without a brand it cannot be stored. */
export interface Posted {
  readonly id: string;
  readonly price: number;
  readonly brand: string | undefined;
}

export type Step =
  | {
      readonly kind: 'post';
      readonly mode: '' | ';mode=replace';
      readonly xml: boolean;
      readonly posted: readonly Posted[];
    }
  | { readonly kind: 'delete'; readonly ids: readonly string[] | 'all' }
  /** The program turns to another currency. */
  | { readonly kind: 'turn'; readonly currency: string };

/** A feed as Document 1's behaviour rules make it. */
export class KnownFeed {
  readonly listed = new Map<string, { price: number; brand: string; currency: string; modified: number }>();
  private readonly prices = new Map<string, (readonly [price: number, currency: string, since: number])[]>();
  private currency = 'EUR';

  take(step: Step, now: number): string[] {
    const { currency } = this;
    if (step.kind === 'turn') {
      this.currency = step.currency;
      return [];
    }
    if (step.kind === 'delete') {
      for (const id of step.ids === 'all' ? [...this.listed.keys()] : step.ids) this.listed.delete(id);
      return [];
    }
    const usable = new Map<string, { price: number; brand: string }>();
    for (const { id, price, brand } of step.posted) if (brand !== undefined) usable.set(id, { price, brand });
    for (const [id, { price, brand }] of usable) {
      const before = this.listed.get(id);
      const isSame = before?.price === price && before.brand === brand && before.currency === currency;
      if (!isSame) this.listed.set(id, { price, brand, currency, modified: now });
      const history = this.prices.get(id) ?? [];
      const [last] = history;
      if (last?.[0] !== price || last[1] !== currency)
        this.prices.set(id, [[price, currency, now], ...history]);
    }
    if (step.mode !== '') {
      for (const id of this.listed.keys()) {
        if (!step.posted.some((one) => one.id === id)) this.listed.delete(id);
      }
    }
    return step.posted.filter(({ brand }) => brand === undefined).map(({ id }) => `PF_240 ${id}`);
  }

  offers(): object {
    return Object.fromEntries(
      [...this.listed].map(([id, { price, brand, modified }]) => [
        id,
        { price, brand, modified, history: this.prices.get(id) },
      ]),
    );
  }
}
