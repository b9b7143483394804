import { readFile } from 'node:fs/promises';
import { type Command } from 'commander';
import { addSettings, type CliContext, isOfEngines, withEngines } from './settings';

class NotJson extends Error {
  override readonly name = 'NotJson';
}

/** `affilog network import|schema`. */
export function addNetwork(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const network = affilog
    .command('network')
    .description('Reference data: organisations, programs, feeds and more.');
  const importing = network
    .command('import')
    .description('Import a network file; appends only what has changed. Works while servers run.')
    .argument('<file>', 'network file (JSON, see `affilog network schema`)')
    .option('--prune', 'Remove everything that the file does not contain.')
    .action(async (file: string, { prune = false }: { readonly prune?: boolean }, command: Command) => {
      const json = await readJson(file);
      const { importNetwork } = await import('../import-network.js');
      await withEngines(command, context, async ({ log }) => {
        const at = new Date().toISOString();
        const onToken = (token: object): unknown => stdout.write(`new token: ${JSON.stringify(token)}\n`);
        const { events } = await importNetwork(log, json, { at, prune, onToken });
        stdout.write(events === 0 ? 'nothing has changed\n' : `imported: ${events} events\n`);
      });
    });
  addSettings(importing, isOfEngines);
  network
    .command('schema')
    .description('Print the JSON Schema of network files.')
    .action(async () => {
      const { networkSchema } = await import('../../directory/network-file.js');
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
