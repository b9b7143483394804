import { type Directory } from '../network/directory';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Filter, type Found } from '../kernel/query';
import { type Projection } from '../projector/projection';

/** What an action works with. */
interface ActionContext {
  readonly log: EventLog;
  /** At least as new as the document. */
  readonly directory: Directory;
  /** The present, an ISO 8601 instant. */
  readonly at: string;
}

/**
 * Something that the system does by itself when it is due: a query that finds what is due, and the command for each document
 * found.
 *
 * There is no cursor and no list of timers. A document is found until its read model shows that the command has been
 * executed. So `act` may be called repeatedly, late, by two processes at once, or for a document that is out of date: the
 * decider of the command makes that harmless.
 */
export interface Automation {
  /** Names it in messages. */
  readonly name: string;
  /** The read model that is queried. */
  readonly projection: Projection;
  /** A `number` field of it, one of `sorts`: what is found is done in its order, the lowest first. */
  readonly orderBy: string;
  /**
   * What is due at `now` (epoch ms). Each filter is a query, repeated every half second: it must be one that an index
   * answers, normally a range of `orderBy`.
   */
  due(now: number, directory: Directory): readonly Filter[];
  /** Executes the command for a document. Returns the position of the last event appended, if any. */
  act(found: Found, surface: ActionContext): Promise<{ readonly position?: Position }>;
}
