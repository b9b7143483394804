import {
  type DirectoryEvent,
  type FeedDefinition,
  type FeedInfoEvent,
  type ProgramDefinition,
  type ProgramEvent,
  type ProgramStatus,
  type SiteDefinition,
  type SiteEvent,
  STATUS_AFTER,
} from './events';
import { Multimap, PastValues } from './collections';
import { type Position, type RecordedEvent } from '../kernel/event';
import { minorUnitOf, scaleOf } from '../wire/record/minor-units';

export type Program = ProgramDefinition & { readonly status: ProgramStatus };

/** Advertisers' programs and feeds, publishers' sites, and the connections between sites and programs. */
export class Programs {
  private readonly programs = new Map<number, Program>();
  private readonly feeds = new Map<number, FeedDefinition>();
  private readonly sites = new Map<number, SiteDefinition>();
  private readonly connected = new Multimap<number, number>();
  /** A cache, cleared when a site or a connection changes. */
  private readonly sitesOfPrograms = new Map<number, ReadonlySet<number>>();
  private readonly sitesByOrganisation = new Multimap<number, number>();
  private readonly sitesEver = new Multimap<number, number>();
  /** By organisation and event. */
  private readonly programsEver = new Multimap<string, number>();

  private changes = 0;

  /** The same as long as nothing has changed. */
  get version(): number {
    return this.changes;
  }

  get(id: number): Program | undefined {
    return this.programs.get(id);
  }

  all(): Iterable<Program> {
    return this.programs.values();
  }

  feed(id: number): FeedDefinition | undefined {
    return this.feeds.get(id);
  }

  allFeeds(): Iterable<FeedDefinition> {
    return this.feeds.values();
  }

  site(id: number): SiteDefinition | undefined {
    return this.sites.get(id);
  }

  allSites(): Iterable<SiteDefinition> {
    return this.sites.values();
  }

  /** Ids in ascending order. */
  sitesOf(organisationId: number): readonly number[] {
    return [...this.sitesByOrganisation.of(organisationId)].sort((a, b) => a - b);
  }

  /** Ids of all sites that belong or once belonged to an organisation. */
  sitesEverOf(organisationId: number): ReadonlySet<number> {
    return this.sitesEver.of(organisationId);
  }

  /** Ids of all programs that have, or once had, this event while they belonged to an organisation. */
  everWithEvent(organisationId: number, eventId: number): ReadonlySet<number> {
    return this.programsEver.of(`${organisationId} ${eventId}`);
  }

  /** Ids of the programs a site is connected to, including programs that do not exist. */
  connectionsOf(siteId: number): ReadonlySet<number> {
    return this.connected.of(siteId);
  }

  /** Ids of the existing sites that are connected to a program: the same set until a site or a connection changes. */
  sitesConnectedTo(programId: number): ReadonlySet<number> {
    const known = this.sitesOfPrograms.get(programId);
    if (known !== undefined) return known;
    const found = new Set([...this.sites.keys()].filter((id) => this.connected.of(id).has(programId)));
    this.sitesOfPrograms.set(programId, found);
    return found;
  }

  /**
   * The program and the site in links of a publisher, or of one of its sites, to what a feed has: the first program
   * that it is connected to, by its lowest site (`docs/decisions.md#p12`).
   */
  linkOf(
    feedId: number,
    { organisationId, siteId }: { readonly organisationId: number; readonly siteId?: number | undefined },
  ): { readonly programId: number; readonly siteId: number } | undefined {
    const sites = this.sitesOf(organisationId).filter((id) => siteId === undefined || id === siteId);
    for (const programId of this.feed(feedId)?.programIds ?? []) {
      const site = sites.find((id) => this.connectionsOf(id).has(programId));
      if (site !== undefined && this.programs.has(programId)) return { programId, siteId: site };
    }
    return undefined;
  }

  evolve(event: ProgramEvent | SiteEvent | FeedInfoEvent): void {
    this.changes += 1;
    if (event.type.startsWith('Site')) this.sitesOfPrograms.clear();
    switch (event.type) {
      case 'ProgramDefined': {
        const { id, organisationId, events } = event.data;
        const status = this.programs.get(id)?.status ?? 'active';
        this.programs.set(id, { ...event.data, status });
        for (const { id: eventId } of events) this.programsEver.add(`${organisationId} ${eventId}`, id);
        return;
      }
      case 'ProgramActivated':
      case 'ProgramPaused':
      case 'ProgramClosed': {
        const program = this.programs.get(event.data.id);
        const status = STATUS_AFTER[event.type];
        if (program !== undefined) this.programs.set(program.id, { ...program, status });
        return;
      }
      case 'ProgramRemoved':
        this.programs.delete(event.data.id);
        return;
      case 'SiteDefined':
        this.removeSite(event.data.id);
        this.sites.set(event.data.id, event.data);
        this.sitesByOrganisation.add(event.data.organisationId, event.data.id);
        this.sitesEver.add(event.data.organisationId, event.data.id);
        return;
      case 'SiteRemoved':
        this.removeSite(event.data.id);
        this.connected.deleteAll(event.data.id);
        return;
      case 'SiteConnected':
        this.connected.add(event.data.siteId, event.data.programId);
        return;
      case 'SiteDisconnected':
        this.connected.delete(event.data.siteId, event.data.programId);
        return;
      case 'FeedDefined':
        this.feeds.set(event.data.id, event.data);
        return;
      case 'FeedRemoved':
        this.feeds.delete(event.data.id);
    }
  }

  private removeSite(id: number): void {
    const site = this.sites.get(id);
    if (site !== undefined) this.sitesByOrganisation.delete(site.organisationId, id);
    this.sites.delete(id);
  }
}

/** What a publisher earns for an event. */
export type Terms = Pick<Program['events'][number], 'commission'>;

/** What a publisher earns by an event's terms for an order value in this currency: a multiple of `unit`. */
export function commissionOf(
  { commission }: Terms,
  orderValue: number,
  currency: string,
  unit = minorUnitOf(currency),
): number {
  if (commission === undefined) return 0;
  if ('percent' in commission) {
    const millionths = BigInt(Math.round(commission.percent * MILLION));
    return rounded(BigInt(orderValue) * millionths, 100 * MILLION, unit);
  }
  const { fixed, decimals = 2 } = commission;
  return rounded(BigInt(fixed) * 10n ** BigInt(scaleOf(currency)), 10 ** decimals, unit);
}

/**
 * Whether an amount is the commission by these terms. In events of the first version it was rounded to hundredths,
 * whatever the currency.
 */
export function isCommissionBy(terms: Terms, amount: number, orderValue: number, currency: string): boolean {
  const hundredth = 10 ** (scaleOf(currency) - 2);
  return [minorUnitOf(currency), hundredth].some(
    (unit) => commissionOf(terms, orderValue, currency, unit) === amount,
  );
}

/** Percentages have at most six decimals. */
const MILLION = 1_000_000;

/** Rounded half up, as on paper: 4.35 % of 30.00 is 1.31, though binary fractions make it a little less than 1.305. */
function rounded(dividend: bigint, divisor: number, unit: number): number {
  const units = BigInt(divisor) * BigInt(unit);
  return Number((dividend + units / 2n) / units) * unit;
}

/**
 * What programs paid for their events at each position of the log: transactions and claims that were stored before they
 * recorded it have the terms of that time, whatever has happened to the program since.
 */
export class PastTerms {
  /** By event id. */
  private readonly programs = new PastValues<Readonly<Record<string, Terms>>>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type !== 'ProgramDefined') return;
    const { id, events } = event.data;
    const terms = events.map((one) => [String(one.id), termsOf(one)] as const);
    this.programs.note(id, position, Object.fromEntries(terms));
  }

  /** Undefined if the program did not have the event then. A removed program keeps its last ones. */
  at(programId: number, eventId: number, position: Position): Terms | undefined {
    return this.programs.at(programId, position)?.[String(eventId)];
  }
}

/** The terms alone, to be recorded; without a commission if the event has none. */
export function termsOf({ commission }: Terms): Terms {
  return commission === undefined ? {} : { commission };
}
