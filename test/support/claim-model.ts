/** What claims should be, by looking at everything that was done: a naive model without events, keys or queries. */

export interface ModelContent {
  readonly affiliateSiteId: number;
  readonly programId: number;
  readonly timeStampEvent: string;
  readonly eventId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
  readonly expectedCommission?: number | undefined;
}

export interface ModelClaim {
  readonly publisherId: number;
  content: ModelContent;
  statusId: number;
  version: number;
  due?: number | undefined;
  approvedAt?: number;
  ruled: boolean;
  tracked: boolean;
  adjusted?: number | undefined;
  id: number;
}

export interface ModelTransaction {
  readonly order: string;
  readonly programId: number;
  readonly eventId: number;
  readonly siteId: number;
  readonly publisherId: number;
  standing: 'accepted' | 'pending' | 'refused';
  readonly end?: { readonly at: number; readonly standing: 'accepted' | 'refused' };
}

const DAY = 86_400_000;
export const OWNERS: Readonly<Record<number, number>> = { 1101: 11, 1102: 11, 1201: 12, 1202: 12 };
const CONNECTED = ['1101 101', '1101 104', '1102 102', '1201 102', '1202 101'];
interface ModelProgram {
  readonly active: boolean;
  readonly currency: string;
  readonly events: readonly number[];
}
const PROGRAMS: Readonly<Record<number, ModelProgram>> = {
  101: { active: true, currency: 'EUR', events: [17, 301, 302, 305] },
  102: { active: true, currency: 'SEK', events: [17, 303] },
  104: { active: false, currency: 'EUR', events: [17, 301] },
};
const WITHOUT_COMMISSION = [305];

export class ClaimModel {
  readonly claims: ModelClaim[] = [];
  readonly transactions: ModelTransaction[] = [];
  /** Transactions cannot be read. */
  inTrouble = false;

  /** Returns the codes of the refusal; none if they are filed. */
  create(contents: readonly ModelContent[], publisherId: number, now: number): readonly string[] {
    const faults = contents.flatMap((content) => [
      ...accessFaults(content, publisherId),
      ...(needsCommission(content) ? ['UTS_240'] : []),
    ]);
    const isRepeated = (content: ModelContent, at: number): boolean =>
      contents.slice(0, at).some((earlier) => keyOf(earlier) === keyOf(content));
    const refused = contents.filter((one, at) => this.holder(one) !== undefined || isRepeated(one, at));
    if (faults.length + refused.length > 0) return [...faults, ...refused.map(() => 'UTS_397')];
    for (const content of contents) {
      const claim = { publisherId, content, statusId: 1, version: 0, ruled: false, tracked: false, id: NaN };
      this.screen(claim, now);
      this.claims.push(claim);
    }
    return [];
  }

  revise(
    claim: ModelClaim | undefined,
    posted: ModelContent,
    version: number,
    publisherId: number,
    now: number,
  ): readonly string[] {
    const holder = this.holder(posted);
    const taken = holder === undefined || holder === claim ? [] : ['UTS_397'];
    const faults = accessFaults(posted, publisherId);
    if (faults.length > 0) return [...faults, ...taken];
    const content = { ...posted, expectedCommission: posted.expectedCommission ?? keptBy(claim, posted) };
    const refused = this.refusal(claim, publisherId, version, (one) => one.statusId === 2 || isScreened(one));
    if (refused !== undefined || claim === undefined) return [refused ?? 'UTS_402', ...taken];
    const missing = needsCommission(content) ? ['UTS_240'] : [];
    if (missing.length + taken.length > 0) return [...missing, ...taken];
    claim.content = content;
    claim.version += 1;
    this.screen(claim, now);
    return [];
  }

  rule(
    claim: ModelClaim | undefined,
    statusId: number,
    version: number,
    value: number | undefined,
    now: number,
  ) {
    if (statusId === 2) return ['UTS_306'];
    if (statusId === 999) return ['UTS_394'];
    if (statusId !== 3 && value !== undefined) return ['UTS_430'];
    const owner = claim === undefined || PROGRAMS[claim.content.programId] === undefined ? NaN : 1;
    const refused = this.refusal(
      claim && { ...claim, publisherId: owner },
      1,
      version,
      (one) => one.statusId === 2,
    );
    if (refused !== undefined || claim === undefined) return [refused ?? 'UTS_402'];
    Object.assign(claim, { statusId, version: version + 1, ruled: true, due: undefined, adjusted: value });
    if (statusId === 3) claim.approvedAt = now;
    return [];
  }

  remove(claim: ModelClaim | undefined, version: number, publisherId: number): readonly string[] {
    const refused = this.refusal(claim, publisherId, version, ({ ruled }) => !ruled);
    if (refused !== undefined || claim === undefined) return [refused ?? 'UTS_402'];
    this.claims.splice(this.claims.indexOf(claim), 1);
    return [];
  }

  /** A report that is taken if there is no transaction of this program, event and order. */
  report(transaction: ModelTransaction): void {
    const { order, programId, eventId } = transaction;
    const isSame = (one: ModelTransaction) =>
      one.order === order && one.programId === programId && one.eventId === eventId;
    if (!this.transactions.some(isSame)) this.transactions.push(transaction);
  }

  /** What the system does by itself. */
  tick(now: number): void {
    for (const transaction of this.transactions)
      if (transaction.standing === 'pending' && transaction.end !== undefined && transaction.end.at <= now)
        transaction.standing = transaction.end.standing;
    for (const claim of this.claims) if (claim.statusId === 100 && !this.inTrouble) this.screen(claim, now);
    for (const claim of this.claims)
      if (claim.statusId === 2 && claim.due !== undefined && claim.due <= now)
        Object.assign(claim, { statusId: 3, ruled: true, due: undefined, approvedAt: now });
    if (this.inTrouble) return;
    const untracked = this.claims.filter(({ statusId, tracked }) => statusId === 3 && !tracked);
    const inOrder = untracked.toSorted(
      (a, b) => (a.approvedAt ?? 0) - (b.approvedAt ?? 0) || (String(a.id) < String(b.id) ? -1 : 1),
    );
    for (const claim of inOrder) {
      claim.tracked = true;
      if (this.statusByOrder(claim) !== undefined) continue;
      const { orderNumber: order, programId, eventId, affiliateSiteId: siteId } = claim.content;
      // Also beside a transaction of this event that was refused for another site.
      const { publisherId } = claim;
      this.transactions.push({ order, programId, eventId, siteId, publisherId, standing: 'accepted' });
    }
  }

  private holder(content: ModelContent): ModelClaim | undefined {
    return this.claims.find((claim) => keyOf(claim.content) === keyOf(content));
  }

  private refusal(
    claim: ModelClaim | undefined,
    publisherId: number,
    version: number,
    allows: (claim: ModelClaim) => boolean,
  ): string | undefined {
    if (claim === undefined) return 'UTS_402';
    if (claim.publisherId !== publisherId) return 'UTS_404';
    return claim.version === version && allows(claim) ? undefined : 'UTS_405';
  }

  private screen(claim: ModelClaim, now: number): void {
    claim.statusId = this.outcome(claim, now);
    claim.due = claim.statusId === 2 ? now + 30 * DAY : undefined;
  }

  private outcome(claim: ModelClaim, now: number): number {
    const { programId, eventId, affiliateSiteId, timeStampEvent, expectedCommission } = claim.content;
    const program = PROGRAMS[programId];
    if (program !== undefined && eventId === 17 && expectedCommission === undefined) return 101;
    if (program === undefined) return 102;
    if (!program.active) return 103;
    if (!CONNECTED.includes(`${affiliateSiteId} ${programId}`)) return 113;
    if (Date.parse(timeStampEvent) > now) return 115;
    if (!program.events.includes(eventId)) return 116;
    if (WITHOUT_COMMISSION.includes(eventId)) return 104;
    // The inquiry event pays most: 10 %, with a tolerance of one per cent of that.
    if ((expectedCommission ?? 0) > claim.content.orderValue * 0.1 * 1.01) return 105;
    if (this.inTrouble) return 100;
    return this.statusByOrder(claim) ?? 2;
  }

  private statusByOrder({ content, publisherId }: ModelClaim): number | undefined {
    const found = this.transactions.filter(
      ({ order, programId }) => order === content.orderNumber && programId === content.programId,
    );
    const has = (standing: string, whose: (one: ModelTransaction) => boolean) =>
      found.some((one) => one.standing === standing && whose(one));
    const own = (one: ModelTransaction) => one.siteId === content.affiliateSiteId;
    const sibling = (one: ModelTransaction) => !own(one) && one.publisherId === publisherId;
    const other = (one: ModelTransaction) => !own(one) && one.publisherId !== publisherId;
    if (has('accepted', own)) return 106;
    if (has('pending', own)) return 107;
    if (has('accepted', sibling)) return 109;
    if (has('pending', sibling)) return 110;
    if (has('accepted', other) || has('pending', other)) return 111;
    return has('refused', own) ? 108 : undefined;
  }
}

/** The inquiry event needs an expected commission (decisions C6). */
function needsCommission({ programId, eventId, expectedCommission }: ModelContent): boolean {
  return PROGRAMS[programId] !== undefined && eventId === 17 && expectedCommission === undefined;
}

/** What an update omits stays, but for an event that must not have it, and in another currency (decisions C9). */
function keptBy(claim: ModelClaim | undefined, { programId, eventId }: ModelContent): number | undefined {
  const program = PROGRAMS[programId];
  const isOther = eventId !== 17 && program?.events.includes(eventId) === true;
  const before = claim && PROGRAMS[claim.content.programId];
  return isOther || before?.currency !== program?.currency ? undefined : claim?.content.expectedCommission;
}

function keyOf({ timeStampEvent, programId, eventId, orderNumber }: ModelContent): string {
  return [timeStampEvent, programId, eventId, orderNumber].join();
}

function isScreened({ statusId }: ModelClaim): boolean {
  return statusId >= 100 && statusId < 200;
}

function accessFaults(content: ModelContent, publisherId: number): readonly string[] {
  const { affiliateSiteId, programId, eventId, expectedCommission } = content;
  const sites = Object.keys(OWNERS).filter((site) => OWNERS[Number(site)] === publisherId);
  const program = PROGRAMS[programId];
  const isConnected = sites.some((site) => CONNECTED.includes(`${site} ${programId}`));
  const isOther = eventId !== 17 && program?.events.includes(eventId) === true;
  return [
    ...(OWNERS[affiliateSiteId] === publisherId ? [] : ['UTS_396']),
    ...(program === undefined || isConnected ? [] : ['UTS_403']),
    ...(isOther && expectedCommission !== undefined ? ['UTS_430'] : []),
  ];
}
