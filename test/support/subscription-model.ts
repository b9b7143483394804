/** What subscriptions there are, by the documents alone: a reference for random histories (Document 2, Subscriptions). */

/** An organisation's token, perhaps for one site. */
export interface ModelSubscriber {
  readonly organisationId: number;
  readonly siteId?: number;
}

type Content = Readonly<Record<string, unknown>>;

interface ModelSubscription extends ModelSubscriber {
  readonly id: string;
  content: Content;
  isDeleted: boolean;
}

/** The status of an answer, with its copy. */
export interface ModelAnswer {
  readonly status: number;
  readonly copy?: Content;
}

const MOST = 100;

export class SubscriptionModel {
  /** In the order of creation. */
  private readonly all: ModelSubscription[] = [];

  /** What the answer to a post is; `id`: that of the real one, if it was taken. */
  create(by: ModelSubscriber, content: Content | undefined, id: string): ModelAnswer {
    const own = this.all.filter((one) => !one.isDeleted && one.organisationId === by.organisationId);
    if (content === undefined || own.length === MOST) return { status: 400 };
    const created = { ...by, id, content, isDeleted: false };
    this.all.push(created);
    return { status: 201, copy: copyOf(created) };
  }

  replace(by: ModelSubscriber, id: string, content: Content | undefined): ModelAnswer {
    return this.withOwn(by, id, (one) => {
      if (content === undefined) return { status: 400 };
      one.content = content;
      return { status: 200, copy: copyOf(one) };
    });
  }

  delete(by: ModelSubscriber, id: string): ModelAnswer {
    return this.withOwn(by, id, (one) => {
      one.isDeleted = true;
      return { status: 200 };
    });
  }

  get(by: ModelSubscriber, id: string): ModelAnswer {
    return this.withOwn(by, id, (one) => ({ status: 200, copy: copyOf(one) }));
  }

  list(by: ModelSubscriber): readonly Content[] {
    return this.all.filter((one) => !one.isDeleted && isOf(one, by)).map(copyOf);
  }

  /** Ids of all that ever were. */
  get ids(): readonly string[] {
    return this.all.map(({ id }) => id);
  }

  get count(): number {
    return this.all.filter(({ isDeleted }) => !isDeleted).length;
  }

  private withOwn(
    by: ModelSubscriber,
    id: string,
    then: (own: ModelSubscription) => ModelAnswer,
  ): ModelAnswer {
    const found = this.all.find((one) => one.id === id);
    if (found === undefined || found.isDeleted) return { status: 404 };
    return isOf(found, by) ? then(found) : { status: 403 };
  }
}

function isOf(one: ModelSubscription, by: ModelSubscriber): boolean {
  return one.organisationId === by.organisationId && (by.siteId === undefined || one.siteId === by.siteId);
}

function copyOf({ id, content, siteId }: ModelSubscription): Content {
  return { subscriptionId: id, ...content, ...(siteId === undefined ? {} : { siteId }) };
}
