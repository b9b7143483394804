interface Stoppable {
  stop(): void;
}

/** What is in progress, to stop it all or by a signal. A signal has one listener, however many share it. */
export class InProgress {
  private readonly all = new Set<Stoppable>();
  private readonly bySignal = new WeakMap<AbortSignal, Set<Stoppable>>();

  add(one: Stoppable, signal?: AbortSignal): void {
    this.all.add(one);
    if (signal === undefined) return;
    const known = this.bySignal.get(signal);
    const members = known ?? new Set();
    members.add(one);
    if (known !== undefined) return;
    this.bySignal.set(signal, members);
    signal.addEventListener('abort', () => stopAll(members), { once: true });
  }

  delete(one: Stoppable, signal?: AbortSignal): void {
    this.all.delete(one);
    if (signal !== undefined) this.bySignal.get(signal)?.delete(one);
  }

  stopAll(): void {
    stopAll(this.all);
  }
}

function stopAll(members: Set<Stoppable>): void {
  for (const one of members) one.stop();
}
