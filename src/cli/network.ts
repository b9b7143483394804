import { readFile } from 'node:fs/promises';
import { type Command } from 'commander';
import { type Fact } from '../network/decider';
import { addChangeFlags, type ChangeFlags, changeNetwork } from './change-network';
import { addSettings, type CliContext, isOfEngines, withDirectory } from './settings';

class NotJson extends Error {
  override readonly name = 'NotJson';
}

interface ImportFlags extends ChangeFlags {
  readonly prune?: boolean;
}

/** `affilog network import|export|schema`. */
export function addNetwork(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const network = affilog
    .command('network')
    .description('Reference data: organisations, programs, feeds and more.');
  const importing = addChangeFlags(
    network
      .command('import')
      .description('Import a network file; appends only what has changed. Works while servers run.')
      .argument('<file>', 'network file (JSON, see `affilog network schema`)')
      .option(
        '--prune',
        'Remove everything that the file does not contain; tokens only if it has a list of them.',
      ),
  ).action(async (file: string, { prune = false, ...flags }: ImportFlags, command: Command) => {
    const json = await readJson(file);
    const { planNetwork } = await import('../operations/import-network.js');
    await withDirectory(command, context, async ({ log }, directory) => {
      const { facts, tokens } = planNetwork(directory, json, { at: new Date().toISOString(), prune });
      const onAppended = (fact: Fact): void => {
        const token = tokens.get(fact);
        if (token !== undefined) stdout.write(`new token: ${JSON.stringify(token)}\n`);
      };
      const done = await changeNetwork(context, flags, { log, directory }, facts, { onAppended });
      if (done === undefined) return;
      stdout.write(done.events === 0 ? 'nothing has changed\n' : `imported: ${done.events} events\n`);
    });
  });
  const exporting = network
    .command('export')
    .description('Print the reference data as a network file, without tokens. Importing it changes nothing.')
    .action(async (_: object, command: Command) => {
      const { exportNetwork } = await import('../network/network-file.js');
      await withDirectory(command, context, async (_engines, directory) => {
        stdout.write(`${JSON.stringify(exportNetwork(directory), null, 2)}\n`);
      });
    });
  for (const verb of [importing, exporting]) addSettings(verb, isOfEngines);
  network
    .command('schema')
    .description('Print the JSON Schema of network files.')
    .action(async () => {
      const { networkSchema } = await import('../network/network-file.js');
      stdout.write(networkSchema());
    });
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NotJson(`${file}: expected JSON: ${String(error)}`);
  }
}
