import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of the only generation there is. */
export async function liveProducts(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^products-g\d+\.sqlite$/.test(file));
  if (name === undefined) throw new Error(`there is no read model of products in ${folder}`);
  return join(folder, name);
}
