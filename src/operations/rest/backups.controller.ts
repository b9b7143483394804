import { join } from 'node:path';
import { Controller, Get, type OnModuleDestroy, Post } from '@nestjs/common';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { Fault } from '../../kernel/fault';
import { codeOf } from '../../kernel/values';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { operationsById, type Shape } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { boolean, integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { backUp, backupsBelow, BackupUnderWay, verifyBackup } from '../backup';
import { CommandError, UsageError } from '../command-error';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, OneAtATime, REASON } from './operator-service';

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

const folderKeys = {
  name: { type: TEXT, required: true, description: 'Name of the backup, as they are listed' },
} as const satisfies KeyTable;

const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,49}$/;

const optional = { optional: true } as const;

const DESCRIBED = {
  at: { kind: text(), description: 'When it was made, ISO 8601' },
  events: { kind: integer(), description: 'Events that it has' },
  position: { kind: text(), description: 'Log position up to which it is' },
  bytes: { kind: integer(), description: 'Bytes of its files' },
  hasDeliveries: { kind: boolean(), description: 'Whether it has the delivery log' },
  hasKey: { kind: boolean(), description: 'Whether it has the key of notifications' },
} as const;

const optionally = <Kinds extends Readonly<Record<string, object>>>(kinds: Kinds) =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, { ...kind, ...optional }])) as {
    readonly [Name in keyof Kinds]: Kinds[Name] & typeof optional;
  };

const LISTED = {
  name: 'Backups',
  kind: listOf(
    record(
      {
        name: { kind: text(), description: 'Its name' },
        ...optionally(DESCRIBED),
        problem: {
          kind: text(),
          ...optional,
          description: 'Why it is no backup to restore; then the rest is absent',
        },
      },
      { name: 'ListedBackup' },
    ),
    { each: 'backup' },
  ),
} as const satisfies Shape;

const VERIFIED = {
  name: 'VerifiedBackup',
  kind: record({
    ...DESCRIBED,
    until: { kind: text(), ...optional, description: 'Time of the last event that has one, ISO 8601' },
    sha256: {
      kind: text(),
      ...optional,
      description:
        'Of the events of the log: the same as that of a restore, or of another backup, of the same events',
    },
    problems: {
      kind: listOf(text(), { each: 'problem' }),
      description: 'Why it cannot be restored; empty if it can',
    },
  }),
} as const satisfies Shape;

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
  listBackups: {
    summary: 'List the backups',
    description: 'What is below BACKUP_DIR, by name, up to 1,000.',
    answer: LISTED,
  },
  verifyBackup: {
    summary: 'Read a backup again',
    description:
      'As `affilog backup --verify`: all of its files, the events of the log, and whether the delivery log fits to it. ' +
      'Answers when it has read everything; one at a time.',
    example: { name: 'daily' },
    answer: VERIFIED,
  },
});

/** Backups (`docs/decisions.md#x118`): the same function as `affilog backup`. */
@Controller('/ops/1.0/backups')
@Roles(['operator'])
@Produces(['json'])
export class BackupsController implements OnModuleDestroy {
  private readonly stop = new AbortController();
  private readonly verifications = new OneAtATime();
  private isUnderWay = false;

  constructor(
    private readonly place: BackupPlace,
    private readonly clock: Clock,
    private readonly actions: OperatorActions,
  ) {}

  /** A stop does not wait for a backup; asked for again, it continues. */
  onModuleDestroy(): void {
    this.stop.abort();
    this.verifications.end();
  }

  @Get()
  @ApiOperation(backupOperations.listBackups)
  list(): ListAnswer {
    return ListAnswer.of(backupOperations.listBackups, async () => {
      const all = await withoutPaths(backupsBelow(this.backupDir()), 'they cannot be listed');
      return { items: [all], total: all.length };
    });
  }

  @Get('verify')
  @ApiOperation(backupOperations.verifyBackup)
  verify(@MatrixKeys(folderKeys) { name }: Keys<typeof folderKeys>): QueuedAnswer {
    return QueuedAnswer.of(backupOperations.verifyBackup, async ({ signal: gone }) => {
      const folder = this.folderOf(name);
      return await this.verifications.run(gone, (signal) =>
        withoutPaths(verifyBackup(folder, { signal }), 'it cannot be read'),
      );
    });
  }

  @Post()
  @ApiOperation(backupOperations.makeBackup)
  async make(
    @MatrixKeys(backupKeys) keys: Keys<typeof backupKeys>,
    @CurrentCaller() caller: Caller,
  ): Promise<Answer> {
    const { name } = keys;
    const folder = this.folderOf(name);
    if (this.isUnderWay) throw fault.conflict('a backup is under way in this process: wait for it');
    this.isUnderWay = true;
    try {
      const done = await this.actions.of(caller, 'backup', keys, ({ log }, begin) =>
        withoutPaths(backUp({ log }, this.place, folder, this.options(begin)), 'the backup has failed'),
      );
      return Answer.of(backupOperations.makeBackup, { name, ...done });
    } finally {
      this.isUnderWay = false;
    }
  }

  private backupDir(): string {
    const { backupDir } = this.place;
    if (backupDir !== undefined) return backupDir;
    throw fault.unusable('BACKUP_DIR is not set: it is where backups are made; or run `affilog backup`');
  }

  private folderOf(name: string): string {
    if (!NAME.test(name))
      throw fault.unusable(`name=${name.slice(0, 100)}: expected up to 50 letters, digits and dashes`);
    return join(this.backupDir(), name);
  }

  private options(begin: () => Promise<void>) {
    return { clock: this.clock, signal: this.stop.signal, begin };
  }
}

/** Folders of the server are nobody's business. */
async function withoutPaths<Done>(done: Promise<Done>, what: string): Promise<Done> {
  return await done.catch((error: unknown) => {
    if (error instanceof Fault || error instanceof UsageError) throw error;
    if (error instanceof BackupUnderWay) throw fault.conflict(error.message);
    if (error instanceof CommandError)
      throw fault.conflict(
        `${what}: the folder of this name has something else, or the backup of another log, or was damaged`,
      );
    const code = codeOf(error);
    throw code === undefined ? error : fault.conflict(`${what}: BACKUP_DIR cannot be used (${code})`);
  });
}
