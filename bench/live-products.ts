import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of the only generation of products. */
export async function liveProducts(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^products-g\d+\.sqlite$/.test(file));
  if (name === undefined) throw new Error(`no read model of products in ${folder}`);
  return join(folder, name);
}
