import { type FastifyReply } from 'fastify';

/** Marks the answer of a dry run, a failure too (`docs/decisions.md#a15`). Returns whether it is one. */
export function markDryRun(reply: FastifyReply, dryRun = false): boolean {
  if (dryRun) reply.header('X-Dry-Run', 'true');
  return dryRun;
}
