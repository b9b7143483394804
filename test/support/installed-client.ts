import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModuleKind, ScriptTarget, transpile } from 'typescript';

const CLIENT = join(__dirname, '../../clients/typescript');

/** Installs the TypeScript client in a folder, as `npm install` does from its path. */
export async function installClient(folder: string): Promise<void> {
  const own = join(folder, 'node_modules/affilog-client');
  await mkdir(join(own, 'dist'), { recursive: true });
  await copyFile(join(CLIENT, 'package.json'), join(own, 'package.json'));
  for (const file of await readdir(join(CLIENT, 'src'))) {
    const text = await readFile(join(CLIENT, 'src', file), 'utf8');
    const built = transpile(text, { target: ScriptTarget.ES2022, module: ModuleKind.ESNext });
    await writeFile(join(own, 'dist', file.replace(/ts$/, 'js')), built);
  }
}
