import { type GenerationProjector } from './generation-projector';

/** Projections that have stopped because too many of their documents are parked (`docs/decisions.md#x90`). */
export class StoppedProjections {
  /** By collection: the generation that stopped; undefined when it could not be built. */
  private readonly generations = new Map<string, number | undefined>();

  add(collection: string, generation: number | undefined): void {
    this.generations.set(collection, generation);
  }

  has(collection: string): boolean {
    return this.generations.has(collection);
  }

  clear(): void {
    this.generations.clear();
  }

  /** The projectors to run: a stopped one resumes with a new generation, or when a retry is requested. */
  async without(projectors: readonly GenerationProjector[]): Promise<readonly GenerationProjector[]> {
    const running: GenerationProjector[] = [];
    for (const projector of projectors) {
      const { collection, number } = projector.generation;
      const isStopped = this.has(collection) && this.generations.get(collection) === number;
      if (isStopped && !(await projector.parked.isRetryRequested())) continue;
      this.generations.delete(collection);
      running.push(projector);
    }
    return running;
  }

  /** Which have stopped, and how to find out why; undefined if none has. */
  trouble(): string | undefined {
    const stopped = [...this.generations.keys()].map(
      (name) => `${name} has stopped: too many of its documents are parked (affilog parked list ${name})`,
    );
    return stopped.length === 0 ? undefined : stopped.join('; ');
  }
}
