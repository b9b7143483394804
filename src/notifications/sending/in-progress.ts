interface Stoppable {
  stop(): void;
}

interface Group {
  readonly members: Set<Stoppable>;
  readonly stop: () => void;
}

/** What is in progress, to stop it all or by a signal. A signal has one listener, however many share it. */
export class InProgress {
  private readonly all = new Set<Stoppable>();
  private readonly bySignal = new Map<AbortSignal, Group>();

  add(one: Stoppable, signal?: AbortSignal): void {
    this.all.add(one);
    if (signal === undefined) return;
    let group = this.bySignal.get(signal);
    if (group === undefined) {
      const members = new Set<Stoppable>();
      group = { members, stop: () => stopAll(members) };
      this.bySignal.set(signal, group);
      signal.addEventListener('abort', group.stop, { once: true });
    }
    group.members.add(one);
  }

  delete(one: Stoppable, signal?: AbortSignal): void {
    this.all.delete(one);
    if (signal === undefined) return;
    const group = this.bySignal.get(signal);
    if (group?.members.delete(one) !== true || group.members.size > 0) return;
    this.bySignal.delete(signal);
    signal.removeEventListener('abort', group.stop);
  }

  stopAll(): void {
    stopAll(this.all);
  }
}

function stopAll(members: Set<Stoppable>): void {
  for (const one of members) one.stop();
}
