import { Injectable } from '@nestjs/common';
import { countDelistedAfter, delistings } from '../../../../projections/feeds';
import { lastImportBefore } from '../../../../projections/imports';
import { type ChangesAfter, countOffers, requireUpTo } from '../../../../projections/product-download';
import { FollowedDirectory } from '../../../network/follower';
import { type Changed } from '../../../network/directory';
import { type Caller } from '../../../network/organisations';
import { type Position, START, streamOf } from '../../../kernel/event';
import { EventLog } from '../../../kernel/event-log';
import { ReadStore } from '../../../kernel/read-store';
import { type FeedState, FeedStates, mappingOf } from '../feed.queries';
import { type RenderOptions, type RenderRequest } from './exporter';
import { BEHIND, digest, digestOf, isIncluded, joinedFacts, nextSince, type Since } from './joined-facts';

export interface DownloadRequest extends RenderOptions {
  /** Only what has changed (`docs/decisions.md#p28`). */
  readonly since?: Since;
}

/** What is decided about a download before any of it is rendered. */
export interface DownloadPlan {
  /** All that the bytes depend on: the same for the same bytes. */
  readonly key: string;
  /** The version of the feed (`FeedVersion`), `START` as long as no load has ended. */
  readonly version: Position;
  /** Nothing has changed. */
  readonly isEmpty: boolean;
  /** The value of `X-Next-Since`. */
  readonly next: string;
  readonly render: RenderRequest;
}

/** What a copy lacks: `changes` are absent where everything is to be sent. */
interface Missing {
  readonly removedAfter: Position;
  readonly changes?: ChangesAfter;
}

/** Changed categories whose products are looked for; beyond that everything is sent (`docs/decisions.md#x51`). */
const MOST_CATEGORIES = 1000;

/** Plans downloads, by the states of the read models and the directory. */
@Injectable()
export class DownloadPlans {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly follower: FollowedDirectory,
    private readonly states: FeedStates,
  ) {}

  /** Raises `EngineUnavailable` while read models are too far apart. */
  async of({ since, ...options }: DownloadRequest): Promise<DownloadPlan> {
    const { store, follower } = this;
    const { feedId, caller, trackerUrl } = options;
    const [state] = await this.states.of([feedId]);
    if (state === undefined) throw new Error(`feed ${feedId} has no state`);
    const { checkpoint, version } = state;
    const joined = joinedFacts(follower.directory, caller, feedId);
    const facts = digestOf(joined, caller, trackerUrl);
    const plan = {
      key: digest([state.key, facts, { ...options, caller: undefined }, since]),
      version: version?.position ?? START,
      next: nextSince({ position: checkpoint, facts }),
      render: { ...options, checkpoint, joined },
    };
    if (since === undefined) return { ...plan, isEmpty: false };
    await requireUpTo(this.states.clock, store, checkpoint, [delistings]);
    const { changes, removedAfter } = await this.missing(state, caller, facts, since);
    if (changes === undefined) return { ...plan, isEmpty: false, render: { ...plan.render, removedAfter } };
    const isEmpty =
      (await countOffers(store, { feedId, changes })) === 0 &&
      (await countDelistedAfter(store, feedId, removedAfter)) === 0;
    return { ...plan, isEmpty, render: { ...plan.render, changes, removedAfter } };
  }

  private async missing(state: FeedState, caller: Caller, facts: string, asked: Since): Promise<Missing> {
    const since = (await this.isOfAnotherLog(asked, state.checkpoint)) ? { date: 0 } : asked;
    const isNew = (changed: Changed | undefined): boolean =>
      changed !== undefined && !isIncluded(since, changed);
    const removedAfter = 'date' in since ? await this.positionAt(state, since) : since.position;
    const isJoinedAnew =
      'facts' in since ? since.facts !== facts : this.sourcesOf(state.feedId, caller).some(isNew);
    const { changes } = this.follower.directory;
    const categories = changes.ofCategoriesAfter('date' in since ? START : since.position);
    const categoryIds = [...categories].flatMap(([id, changed]) => (isNew(changed) ? id : []));
    if (isJoinedAnew || categoryIds.length > MOST_CATEGORIES) return { removedAfter };
    return { removedAfter, changes: { after: removedAfter, categoryIds } };
  }

  /** A log that was moved has other positions: a position beyond its end has no meaning there. */
  private async isOfAnotherLog(since: Since, checkpoint: Position): Promise<boolean> {
    return 'position' in since && since.position > checkpoint && since.position > (await this.log.head());
  }

  /**
   * A position up to which a copy of a date includes everything: that of a load or deletion that ended before. Products
   * have the time when their load began, however long it took to store them, so only its end can be relied on.
   */
  private async positionAt(
    { feedId, checkpoint, stored }: FeedState,
    since: Extract<Since, { readonly date: number }>,
  ): Promise<Position> {
    const time = since.date - BEHIND;
    const published = stored?.published.findLast(({ at }) => Date.parse(at) < time)?.position ?? START;
    const loaded = await lastImportBefore(this.store, feedId, time);
    const ended = published > loaded ? published : loaded;
    const { changes } = this.follower.directory;
    const remapped = [changes.of(mappingOf(feedId)), changes.ofTree];
    const isUnchanged =
      (stored?.content ?? START) <= ended &&
      remapped.every((changed) => changed === undefined || isIncluded(since, changed));
    return isUnchanged ? checkpoint : ended;
  }

  /** The last changes of what is joined to products: feed, programs, organisation, sites that were ever its own. */
  private sourcesOf(feedId: number, { organisationId }: Caller): readonly (Changed | undefined)[] {
    const { changes, programs } = this.follower.directory;
    const streams = [
      streamOf('feedinfo', feedId),
      streamOf('organisation', organisationId),
      ...(programs.feed(feedId)?.programIds ?? []).map((id) => streamOf('program', id)),
      ...[...programs.sitesEverOf(organisationId)].map((id) => streamOf('site', id)),
    ];
    return streams.map((stream) => changes.of(stream));
  }
}
