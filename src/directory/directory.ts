import { toDomainEvent } from '../kernel/decider';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { Categories, type CategoryChange } from './categories';
import { LastChanges } from './last-changes';
import {
  type CategoryDefinition,
  type DirectoryEvent,
  type FeedDefinition,
  type OrganisationDefinition,
  type SiteDefinition,
} from './events';
import { type Caller, Organisations } from './organisations';
import { type Program, Programs } from './programs';

/** What a caller sees; `programs`: its own, or those that its sites are connected to. */
interface View {
  readonly sites: readonly number[];
  readonly programs: ReadonlySet<number>;
  readonly feeds: readonly FeedDefinition[];
}

/**
 * The reference data, all of it in memory, folded from its events: small shared facts are joined when answering.
 * Streams may be folded in any order between them; a name of something that is not there yet waits for it.
 */
export class Directory {
  readonly organisations = new Organisations();
  readonly programs = new Programs();
  readonly categories = new Categories();
  /** When what has been applied changed each entity. */
  readonly changes = new LastChanges();
  /** Cached until something that they are made of changes. */
  private readonly views = new Map<string, View>();

  /** Where the last change of the category tree is that has been applied. */
  get treeChanged(): Position {
    return this.changes.ofTree?.position ?? START;
  }

  organisation(id: number): OrganisationDefinition | undefined {
    return this.organisations.get(id);
  }

  program(id: number): Program | undefined {
    return this.programs.get(id);
  }

  site(id: number): SiteDefinition | undefined {
    return this.programs.site(id);
  }

  feed(id: number): FeedDefinition | undefined {
    return this.programs.feed(id);
  }

  /** ISO 4217: that of the feed's first program (`docs/decisions.md#p26`). */
  currencyOf(feed: FeedDefinition): string | undefined {
    return this.program(feed.programIds[0] ?? NaN)?.currency;
  }

  // Categories ----------------------------------------------------------------------------------------------

  category(id: string): CategoryDefinition | undefined {
    return this.categories.get(id);
  }

  /** The categories that bear this name, to the letter, in any language. */
  categoriesNamed(name: string): readonly CategoryDefinition[] {
    return this.categories.named(name);
  }

  /** The ids of a category and of all below it; empty if there is no such category. */
  descendantsOf(categoryId: string): readonly string[] {
    return this.categories.descendantsOf(categoryId);
  }

  /** The categories directly below one, or without one above them, in the order of their ids. */
  childrenOf(parentId: string | null): readonly CategoryDefinition[] {
    return this.categories.childrenOf(parentId);
  }

  /** The category that a feed maps an advertiser category name to, if there is that category. */
  mappingOf(feedId: number, name: string): string | undefined {
    const id = this.categories.mappingsOf(feedId).get(name);
    return id !== undefined && this.category(id) !== undefined ? id : undefined;
  }

  // Callers -------------------------------------------------------------------------------------------------

  /** Who calls with a token of this `tokenHash`. */
  callerOf(tokenHash: string): Caller | undefined {
    return this.organisations.callerOf(tokenHash);
  }

  /**
   * The feeds a caller may ask for, by id ascending: an advertiser's own; for a publisher the active and visible
   * ones of programs that its site, or any of its sites if the token names none, is connected to
   * (`docs/decisions.md#p22`, `#p26`).
   */
  feedsOf(caller: Caller): readonly FeedDefinition[] {
    return this.viewOf(caller).feeds;
  }

  /** The ids of an advertiser's own programs, or of those that a publisher's sites (`sitesOf`) are connected to. */
  programsOf(caller: Caller): ReadonlySet<number> {
    return this.viewOf(caller).programs;
  }

  /** The site that a publisher's token names, or all sites of the publisher; ids, ascending. */
  sitesOf(caller: Caller): readonly number[] {
    return this.viewOf(caller).sites;
  }

  /** The first program of a feed that is the caller's own, or connected to it (`docs/decisions.md#p26`). */
  programOf(caller: Caller, feed: FeedDefinition): Program | undefined {
    const { programs } = this.viewOf(caller);
    const id = feed.programIds.find((programId) => programs.has(programId));
    return id === undefined ? undefined : this.program(id);
  }

  /**
   * The site that a publisher's links to a feed's products carry: its token's, else the one of lowest id that
   * is connected to the feed's program (`docs/decisions.md#p12`).
   */
  siteFor(caller: Caller, feed: FeedDefinition): number | undefined {
    const program = this.programOf(caller, feed);
    if (program === undefined) return undefined;
    return this.viewOf(caller).sites.find((id) => this.programs.connectionsOf(id).has(program.id));
  }

  private viewOf(caller: Caller): View {
    const key = `${caller.organisationId}/${caller.kind}/${caller.siteId ?? ''}`;
    const view = this.views.get(key) ?? this.lookAround(caller);
    this.views.set(key, view);
    return view;
  }

  private lookAround({ kind, organisationId, siteId }: Caller): View {
    const sites = this.programs.sitesOf(organisationId).filter((id) => siteId === undefined || id === siteId);
    const programs = new Set(kind === 'advertiser' ? this.ownedBy(organisationId) : this.connectedTo(sites));
    const feeds = [...this.programs.allFeeds()]
      .filter((feed) => kind === 'advertiser' || (feed.active && feed.visible))
      .filter((feed) => feed.programIds.some((id) => programs.has(id)))
      .sort((a, b) => a.id - b.id);
    return { sites, programs, feeds };
  }

  private ownedBy(organisationId: number): readonly number[] {
    const programs = [...this.programs.all()];
    return programs.filter((program) => program.organisationId === organisationId).map(({ id }) => id);
  }

  private connectedTo(sites: readonly number[]): readonly number[] {
    const connected = sites.flatMap((id) => [...this.programs.connectionsOf(id)]);
    return connected.filter((id) => this.program(id) !== undefined);
  }

  // Folding -------------------------------------------------------------------------------------------------

  /**
   * Folds an event of the streams that `DIRECTORY_PREFIXES` names; what it does not know it leaves out. Says by
   * what products can be mapped anew.
   */
  apply(recorded: RecordedEvent): readonly CategoryChange[] {
    const event = toDomainEvent(recorded) as DirectoryEvent;
    const changes = this.evolve(event);
    this.changes.note(recorded, event, changes);
    return changes;
  }

  /** As `apply`, of an event that has been read. */
  evolve(event: DirectoryEvent): readonly CategoryChange[] {
    switch (event.type) {
      case 'OrganisationDefined':
      case 'OrganisationRemoved':
      case 'TokenIssued':
      case 'TokenRevoked':
        this.organisations.evolve(event);
        return [];
      case 'CategoryDefined':
      case 'CategoryRemoved':
      case 'CategoryMapped':
      case 'CategoryUnmapped':
        return this.categories.evolve(event);
      default:
        this.views.clear();
        this.programs.evolve(event);
        return [];
    }
  }
}
