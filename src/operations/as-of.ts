import { PROJECTIONS } from '../../projections';
import { type Engines } from '../engines/open';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING } from '../kernel/query';
import { type ReadStore } from '../kernel/read-store';
import { type Directory, directoryAt } from '../network/directory';
import { type System } from '../network/events';
import { type Caller } from '../network/organisations';
import {
  AS_OF_NAME,
  type AsOf,
  type AsOfParts,
  AsOfRefused,
  buildAsOf,
  completeModels,
  listAsOf,
  storeAsOf,
  UnknownAsOf,
} from '../projector/as-of';
import { refuseOtherLog } from '../projector/origin';
import { type Projection } from '../projector/projection';
import { type Clock } from '../runtime/clock';
import { asUpperBound, readDate } from '../wire/date';
import { UsageError } from './command-error';
import { positionIn, timeIn, timeOf } from './log-events';
import { projectionsNamed } from './rebuild';
import { runningCode } from '../projector/parked';

/** What is asked for: as of a time or a position. */
export interface AsOfRequest {
  /** Name of a projection, or `all`. */
  readonly projection: string;
  readonly name: string;
  readonly at?: string | undefined;
  readonly position?: string | undefined;
}

type AsOfEngines = Pick<Engines, 'log' | 'store'>;

/** Read models whose queries read others too. */
const READ_WITH: Readonly<Record<string, readonly string[]>> = { products: ['price-history'] };

/**
 * Builds read models as of a time or a position, or continues that. Raises as `checkedAsOf`, and `AsOfRefused`,
 * `RebuildUnderWay`, `OtherLog`.
 */
export async function rebuildAsOf(
  { log, store }: AsOfEngines,
  request: AsOfRequest,
  parts: Omit<AsOfParts, 'code'>,
): Promise<AsOf> {
  const { name } = request;
  const { projections, asked } = await checkedAsOf(log, request, parts.clock);
  await refuseOtherLog(log, store, PROJECTIONS);
  // What is continued must not depend on events that were appended since, with an earlier time.
  const begun = (await listAsOf(store)).find((one) => one.name === name && isAsked(one, asked));
  const wanted = begun ?? (asked.time === undefined ? {} : { time: asked.time });
  const find = async () => begun ?? (await momentOf(log, asked, parts.signal));
  const code = await runningCode();
  return await buildAsOf(log, store, projections, { ...wanted, name, find }, { ...parts, code });
}

/** What a request asks for, as far as that is known without reading the log. Raises `UsageError`. */
export async function checkedAsOf(
  log: EventLog,
  { projection, name, at, position }: AsOfRequest,
  clock: Clock,
): Promise<{ readonly projections: readonly Projection[]; readonly asked: AskedMoment }> {
  if (!AS_OF_NAME.test(name))
    throw new UsageError(
      `${name.slice(0, 100)}: expected a name of up to 30 lower-case letters, digits and single dashes, a letter first`,
    );
  const projections = chosen(projection);
  const asked = momentIn({ at, position }, clock);
  if (asked.position !== undefined && asked.position > (await log.head()))
    throw new UsageError(`position=${position}: is after the end of the log`);
  return { projections, asked };
}

function isAsked(begun: AsOf, { time, since = time }: AskedMoment): boolean {
  return time !== undefined && since !== undefined && since <= begun.time && begun.time <= time;
}

function chosen(name: string): readonly (typeof PROJECTIONS)[number][] {
  const own = PROJECTIONS.filter(({ collection }) => name === 'all' || collection.name === name);
  if (own.length === 0) {
    // Raises `UsageError` for unknown names.
    projectionsNamed(name);
    throw new UsageError(
      `${name}: is not of the event log, and the delivery log forgets: expected another projection`,
    );
  }
  const others = own.flatMap(({ collection }) => READ_WITH[collection.name] ?? []);
  return PROJECTIONS.filter((one) => own.includes(one) || others.includes(one.collection.name));
}

interface AskedMoment {
  readonly time?: string;
  readonly position?: Position;
  /** Of a day that is not over, whose end is the present: its first instant. */
  readonly since?: string;
}

function momentIn({ at, position }: Pick<AsOfRequest, 'at' | 'position'>, clock: Clock): AskedMoment {
  if ((at === undefined) === (position === undefined))
    throw new UsageError('expected either a time or a position: as of when?');
  if (position !== undefined) return { position: positionIn('position', position) };
  const sent = at ?? '';
  const first = readDate(sent);
  const since = timeIn('at', sent, first);
  const until = timeIn('at', sent, asUpperBound(sent, first));
  const now = clock.wall();
  if (since > now) throw new UsageError(`at=${at}: is in the future`);
  const [time, begin] = [Math.min(until, now), since].map((ms) => new Date(ms).toISOString()) as [
    string,
    string,
  ];
  return { time, ...(until > now ? { since: begin } : {}) };
}

/**
 * The last event whose time is not after the one that is asked for, whatever times those before it have, or which is
 * not after the position; reads the log backwards from its end. Queries take the time for the present.
 */
async function momentOf(
  log: EventLog,
  { time, position }: AskedMoment,
  signal: AbortSignal | undefined,
): Promise<Pick<AsOf, 'position' | 'time'>> {
  let found: Position | undefined;
  for await (const events of log.readAllBackwards()) {
    signal?.throwIfAborted();
    for (const event of events) {
      if (position !== undefined && event.position > position) continue;
      const at = timeOf(event);
      if (time !== undefined && (at === undefined || at > time)) continue;
      found ??= event.position;
      if (at !== undefined) return { position: found, time: time ?? at };
    }
  }
  throw new AsOfRefused(`the log has no event with a time up to ${time ?? `position ${Number(position)}`}`);
}

/** How many documents each of its read models has; those that are unfinished are missing. */
export async function documentsOf(
  store: ReadStore,
  asOf: AsOf,
): Promise<readonly { readonly name: string; readonly documents: number }[]> {
  const past = storeAsOf(store, asOf.name);
  return await Promise.all(
    (await completeModels(store, asOf, PROJECTIONS)).map(async (name) => ({
      name,
      documents: await past.count({ collection: name }, EVERYTHING),
    })),
  );
}

/** What queries are given to read the past. */
export interface PastView {
  readonly store: ReadStore;
  readonly directory: Directory;
  readonly now: Date;
}

/** An operator, who sees all. */
export const NETWORK: Caller = { tokenHash: '', organisationId: 0, kind: 'operator', system: 'OPS' };

/** The organisation whose view is asked for; without one, `otherwise`. Raises `UsageError`. */
export function viewerAmong(
  {
    publisher,
    advertiser,
  }: { readonly publisher?: number | undefined; readonly advertiser?: number | undefined },
  { organisations }: Pick<Directory, 'organisations'>,
  system: System,
  otherwise?: Caller,
): Caller {
  const organisationId = publisher ?? advertiser;
  if (organisationId === undefined && otherwise !== undefined) return otherwise;
  if (organisationId === undefined || (publisher !== undefined && advertiser !== undefined))
    throw new UsageError('expected either publisher or advertiser: the organisation whose view is asked for');
  const kind = publisher === undefined ? 'advertiser' : 'publisher';
  if (organisations.get(organisationId)?.kind !== kind)
    throw new UsageError(
      `${kind}=${organisationId}: expected the id of an organisation that was ${kind} at that time`,
    );
  return { tokenHash: '', organisationId, kind, system };
}

/** Directories that are kept in memory: as many as there may be names. */
const MOST = 10;

/** The past by its names: read models, and the directory of the same position. */
export class PastViews {
  private readonly directories = new Map<Position, Promise<Directory>>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  /** For queries of a read model. Raises `UnknownAsOf`, `AsOfRefused`. */
  async of(name: string, model: string): Promise<PastView> {
    const known = await listAsOf(this.store);
    const asOf = known.find((one) => one.name === name);
    if (asOf === undefined) throw new UnknownAsOf(name, known);
    const complete = await completeModels(this.store, asOf, PROJECTIONS);
    if (![model, ...(READ_WITH[model] ?? [])].every((one) => complete.includes(one)))
      throw new AsOfRefused(
        `${name} has no complete ${model}: run \`affilog rebuild ${model} --at ${asOf.time} --as ${name}\``,
      );
    return {
      store: storeAsOf(this.store, name),
      directory: await this.directoryAt(asOf.position),
      now: new Date(asOf.time),
    };
  }

  private async directoryAt(position: Position): Promise<Directory> {
    const known = this.directories.get(position);
    if (known !== undefined) return await known;
    const read = directoryAt(this.log, position);
    this.directories.set(position, read);
    const [oldest] = this.directories.keys();
    if (this.directories.size > MOST && oldest !== undefined) this.directories.delete(oldest);
    read.catch(() => this.directories.delete(position));
    return await read;
  }
}
