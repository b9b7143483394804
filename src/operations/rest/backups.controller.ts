import { join } from 'node:path';
import { Controller, type OnModuleDestroy, Post } from '@nestjs/common';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { Fault } from '../../kernel/fault';
import { codeOf } from '../../kernel/unknown';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { boolean, integer, text } from '../../wire/record/kinds';
import { record } from '../../wire/record/record';
import { backUp, type BackedUp, BackupUnderWay } from '../backup';
import { CommandError, UsageError } from '../command-error';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON } from './operator-service';

/** The container's token for where the installation is, and where its backups may be. */
export abstract class BackupPlace {
  abstract readonly dataDir: string;
  abstract readonly eventLog: string;
  abstract readonly notifyKey?: string;
  abstract readonly backupDir?: string;
}

const backupKeys = {
  name: {
    type: TEXT,
    required: true,
    description: 'Name of the backup: up to 50 letters, digits and dashes. One that is there is continued',
  },
  ...REASON,
} as const satisfies KeyTable;

const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,49}$/;

const BACKED_UP = {
  name: 'Backup',
  kind: record({
    name: { kind: text(), description: 'Its name' },
    events: { kind: integer(), description: 'Events that it has' },
    added: { kind: integer(), description: 'Of these, those that it did not have before' },
    position: { kind: text(), description: 'Log position up to which it is' },
    hasDeliveries: { kind: boolean(), description: 'Whether it has the delivery log' },
    hasKey: { kind: boolean(), description: 'Whether it has the key of notifications' },
  }),
} as const satisfies Shape;

export const backupOperations = operationsById({
  makeBackup: {
    summary: 'Make or continue a backup',
    description:
      'Of the event log and the delivery log, as `affilog backup`, in a folder of this name below BACKUP_DIR; without the ' +
      'key of notifications. Answers when it is complete and verified; one at a time.',
    example: { name: 'daily' },
    answer: BACKED_UP,
  },
});

/** Backups (`docs/decisions.md#x118`): the same function as `affilog backup`. */
@Controller('/ops/1.0/backups')
@Roles(['operator'])
@Produces(['json'])
export class BackupsController implements OnModuleDestroy {
  private readonly stop = new AbortController();
  private isUnderWay = false;

  constructor(
    private readonly place: BackupPlace,
    private readonly clock: Clock,
    private readonly actions: OperatorActions,
  ) {}

  /** A stop does not wait for a backup; asked for again, it continues. */
  onModuleDestroy(): void {
    this.stop.abort();
  }

  @Post()
  @ApiOperation(backupOperations.makeBackup)
  async make(
    @MatrixKeys(backupKeys) keys: Keys<typeof backupKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const { name } = keys;
    const { backupDir } = this.place;
    if (!NAME.test(name))
      throw fault.unusable(`name=${name.slice(0, 100)}: expected up to 50 letters, digits and dashes`);
    if (backupDir === undefined)
      throw fault.unusable('BACKUP_DIR is not set: it is where backups are made; or run `affilog backup`');
    if (this.isUnderWay) throw fault.conflict('a backup is under way in this process: wait for it');
    this.isUnderWay = true;
    try {
      const done = await this.actions.of(caller, 'backup', keys, ({ log }, begin) =>
        withoutPaths(backUp({ log }, this.place, join(backupDir, name), this.options(begin))),
      );
      return Answer.of(backupOperations.makeBackup, { name, ...done });
    } finally {
      this.isUnderWay = false;
    }
  }

  private options(begin: () => Promise<void>) {
    return { clock: this.clock, signal: this.stop.signal, begin };
  }
}

/** Folders of the server are nobody's business. */
async function withoutPaths(done: Promise<BackedUp>): Promise<BackedUp> {
  return await done.catch((error: unknown) => {
    if (error instanceof Fault || error instanceof UsageError) throw error;
    if (error instanceof BackupUnderWay) throw fault.conflict(error.message);
    if (error instanceof CommandError)
      throw fault.conflict(
        'the backup has failed: the folder of this name has something else, or the backup of another log, or was damaged',
      );
    const code = codeOf(error);
    throw code === undefined
      ? error
      : fault.conflict(`the backup has failed: BACKUP_DIR cannot be used (${code})`);
  });
}
