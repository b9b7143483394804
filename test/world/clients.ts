import { type ClaimBatchEvent, type ClaimEvent } from '../../src/domain/claims/claim';
import { type FeedEvent } from '../../src/domain/products/feed';
import { type FeedChangeEvent } from '../../src/domain/products/feed-changes';
import { type FeedSourceEvent } from '../../src/domain/products/feed-source';
import { type DeliveryRequest } from '../../src/domain/subscriptions/delivery-requests';
import { type SubscriptionEvent } from '../../src/domain/subscriptions/subscription';
import { type TransactionEvent } from '../../src/domain/transactions/transaction';
import { type VoucherEvent } from '../../src/domain/vouchers/voucher';
import { type RecordedEvent } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { Fault, Faults } from '../../src/kernel/fault';
import { NoGeneration } from '../../src/kernel/read-store';
import { type CategoryEvent, type MappingEvent } from '../../src/network/events';
import { type Api, type Host, type KeyedRequest } from './host';
import { Random } from './random';
import { type Say, type Simulation } from './simulation';

/** `time`: when it was appended (ms). */
export type InLog = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'> & {
  readonly time: number;
};

/** An event that somebody may have asked for. */
export type Happened = InLog &
  (
    | (ClaimBatchEvent | ClaimEvent | DeliveryRequest | SubscriptionEvent | TransactionEvent | VoucherEvent)
    | (CategoryEvent | FeedChangeEvent | FeedEvent | FeedSourceEvent | MappingEvent)
  );

interface Asks<What, Event> {
  isIt(what: What, event: Event): boolean;
}

/** A kind of command, or query, that clients send (`workloads.ts` lists all). */
export interface Command<What extends object = object, Result = unknown> {
  readonly name: string;
  /** How often it is sent, compared with others. */
  readonly weight: number;
  /** What is asked for, by what clients know; undefined: nothing can be yet. `number` is that of the step. */
  draw(random: Random, clients: Clients, number: number): What | undefined;
  /**
   * Called in a process, maybe several times. Refusals are raised as faults. `request`: it has a key, and is done once.
   */
  run(api: Api, what: What, request?: KeyedRequest): Promise<Result>;
  /** Some of its requests have an `Idempotency-Key`. */
  readonly hasKeys?: true;
  /** The stream of the events that it asks for; by default any. */
  stream?(what: What): string;
  /**
   * The events that it asks for, by their types, all of the stream or some: nobody else makes them, but for what the
   * system does by itself.
   */
  readonly asksFor?: {
    readonly [Type in Happened['type']]?:
      true | Asks<What, Extract<Happened, { readonly type: Type }>>['isIt'];
  };
  /** The streams that have such an event once it is acknowledged; by default its stream. */
  happensIn?(what: What, result: Result): readonly string[];
  /** Whether it has happened now, not before. By default it has. */
  isNew?(result: Result): boolean;
  /** What is asked for at once by somebody who wants it undone, maybe of a process that does not know of it yet. */
  undone?(what: What, result: Result): Pick<Sent, 'command' | 'what'>;
}

/** How a request has ended, as its client sees it. */
type Answer<Result> =
  | { readonly is: 'done'; readonly result: Result }
  | { readonly is: 'refused'; readonly codes: readonly string[] }
  /** Nobody knows whether it took effect. */
  | { readonly is: 'unknown' };

/** A command as a client sends it, maybe several times. */
export interface Sent<What extends object = object, Result = unknown> {
  readonly command: Command<What, Result>;
  readonly what: What;
  /** Its `Idempotency-Key`. */
  readonly key: string | undefined;
  /** When it was sent first, and answered (ms). */
  readonly sentAt: number;
  answeredAt: number;
  /** How often it was sent. */
  times: number;
  answer: Answer<Result>;
}

/** One that was acknowledged. */
export type Done<What extends object, Result> = Sent<What, Result> & { readonly result: Result };

/** How long a client waits for an answer (ms), and how often it sends a command. */
const PATIENCE_MS = 20_000;
const TRIES = 5;
/** How often somebody wants undone what can be (a share). */
const UNDONE = 0.5;

/** Another process has begun the same request. */
const IN_PROGRESS = '409';

/** All clients: what they have sent, and were answered. */
export class Clients {
  readonly sent: Sent[] = [];
  /** Of how many things they speak, as a share: of few, they compete for them. */
  private readonly variety: number;
  /** How many requests have keys, of those that may have them (a share). */
  private readonly keyed: number;

  constructor(
    private readonly world: {
      readonly seed: string;
      readonly simulation: Simulation;
      readonly hosts: readonly Host[];
      readonly say: Say;
    },
    /** Messages that receivers have got so far, with their subscriptions. */
    readonly received: () => readonly { readonly id: string; readonly subscription: string }[],
  ) {
    const random = new Random(`${world.seed} clients`);
    [this.variety, this.keyed] = [random.pick([0, 0.3, 1]), random.pick([0, 0.5, 1, 1])];
  }

  /** The number of one of some things, from 0: in some worlds always of the same few. */
  few(random: Random, count: number): number {
    return random.below(Math.max(1, Math.round(this.variety * count)));
  }

  /** All of a kind. */
  of<What extends object, Result>(command: Command<What, Result>): readonly Sent<What, Result>[] {
    return this.sent.filter((one) => one.command === command) as unknown as readonly Sent<What, Result>[];
  }

  /** All of a kind that were acknowledged. */
  done<What extends object, Result>(command: Command<What, Result>): readonly Done<What, Result>[] {
    return this.of(command).flatMap((one) =>
      one.answer.is === 'done' ? [{ ...one, result: one.answer.result }] : [],
    );
  }

  get waiting(): readonly Sent[] {
    return this.sent.filter(({ answeredAt }) => answeredAt === Infinity);
  }

  /** Sends a command to some process, again if it is not answered. */
  ask(command: Command, what: object, random: Random): void {
    const key = command.hasKeys === true && random.chance(this.keyed) ? `key-${this.sent.length}` : undefined;
    const sent: Sent = {
      ...{ command, what, key, sentAt: this.world.simulation.now, answeredAt: Infinity },
      ...{ times: 0, answer: { is: 'unknown' } },
    };
    this.sent.push(sent);
    this.send(sent, random);
  }

  /** Notes what the system does by itself, as if somebody had asked for it who does not wait for an answer. */
  note(command: Command, what: object): void {
    const { now } = this.world.simulation;
    const answer = { is: 'unknown' } as const;
    this.sent.push({ command, what, key: undefined, sentAt: now, answeredAt: now, times: 1, answer });
  }

  private send(sent: Sent, random: Random): void {
    const hosts = this.world.hosts.filter((host) => host.has('api'));
    if (sent.times === TRIES) {
      this.answered(sent, { is: 'unknown' });
      return;
    }
    const again = (): void =>
      void this.world.simulation.after(random.time(50, 5_000), undefined, () => this.send(sent, random));
    const host = hosts[random.below(hosts.length)];
    if (host === undefined) return again();
    sent.times += 1;
    let isOver = false;
    const over = (then: () => void): void => {
      if (isOver) return;
      isOver = true;
      late.cancel();
      then();
    };
    const late = this.world.simulation.after(PATIENCE_MS, undefined, () => over(again));
    this.world.simulation.after(random.time(1, 500), host.process, () => {
      const { api } = host;
      if (api === undefined) return;
      const back = (then: () => void): void =>
        void this.world.simulation.after(random.time(1, 500), undefined, () => over(then));
      const { command, what, key } = sent;
      const run =
        key === undefined
          ? command.run(api, what).then((result) => ({ result }))
          : api.once(key, (request) => command.run(api, what, request), codesOf);
      run.then(
        (answer) =>
          back(() => {
            if ('refused' in answer) {
              this.answered(sent, { is: 'refused', codes: answer.refused as readonly string[] });
              return;
            }
            const { result } = answer;
            this.answered(sent, { is: 'done', result });
            const next = random.chance(UNDONE) ? command.undone?.(what, result) : undefined;
            if (next !== undefined) this.ask(next.command, next.what, random);
          }),
        (error: unknown) => {
          const codes = codesOf(error);
          if (codes?.[0] === IN_PROGRESS) back(again);
          else if (codes !== undefined) back(() => this.answered(sent, { is: 'refused', codes }));
          else if (error instanceof EngineUnavailable || error instanceof NoGeneration) back(again);
          else this.world.simulation.crash ??= error;
        },
      );
    });
  }

  private answered(sent: Sent, answer: Sent['answer']): void {
    sent.answer = answer;
    sent.answeredAt = this.world.simulation.now;
    const times = sent.times > 1 ? ` (${sent.times} times)` : '';
    this.world.say(() => `${textOf(sent)}: ${JSON.stringify(answer)}${times}`);
  }
}

export function textOf({ command, what }: Sent): string {
  return `${command.name} ${JSON.stringify(what)}`;
}

/** The result of the only item of a list. */
export function oneOf<Result extends object>({ results }: { readonly results: readonly Result[] }) {
  const [result] = results as readonly (Result | { readonly faults: readonly Fault[] })[];
  if (result !== undefined && 'faults' in result) throw new Faults(result.faults);
  return result as Exclude<Result, { readonly faults: unknown }>;
}

/** The codes of a refusal; undefined for another error. */
function codesOf(error: unknown): readonly string[] | undefined {
  if (error instanceof Faults) return error.faults.map(({ code }) => code);
  return error instanceof Fault ? [error.code] : undefined;
}
