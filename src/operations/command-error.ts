/** What keeps a command from doing what its user wants: printed without a stack trace. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** The user has given something that the command cannot use: it exits with 2 instead of 1. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError';
}

/** What the user names does not exist: over HTTP it is not found. */
export class NothingThere extends UsageError {}
