import { type Output } from './progress';
import { type Start } from '../../host/serve';

/** What a run of the program is given. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** From the call on, being asked to end aborts this instead of ending the process. */
  readonly stopSignal: () => AbortSignal;
  readonly start: Start;
  /** Whether threads of its own may work for it: only in the compiled program. */
  readonly threads: boolean;
}
