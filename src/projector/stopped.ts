import { type GenerationFold } from './generation-fold';

/** Read models that are not projected, since too many of their documents are parked (`docs/decisions.md#x90`). */
export class StoppedProjections {
  /** By collection: the generation that stopped, undefined for one that could not be built. */
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

  /** The folds to project: a stopped one resumes with a new generation, and when a retry is asked for. */
  async without(folds: readonly GenerationFold[]): Promise<readonly GenerationFold[]> {
    const others: GenerationFold[] = [];
    for (const fold of folds) {
      const { collection, number } = fold.generation;
      const isStopped = this.has(collection) && this.generations.get(collection) === number;
      if (isStopped && !(await fold.parked.isRetryAsked())) continue;
      this.generations.delete(collection);
      others.push(fold);
    }
    return others;
  }

  /** Which have stopped, and where to look; undefined if none has. */
  trouble(): string | undefined {
    const stopped = [...this.generations.keys()].map(
      (name) => `${name} has stopped: too many of its documents are parked (affilog parked list ${name})`,
    );
    return stopped.length === 0 ? undefined : stopped.join('; ');
  }
}
