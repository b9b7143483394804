import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The folders of `docs/architecture.md`, in its order. */
const folders = [
  ...(read('docs/architecture.md').split('\n## Folders\n')[1] ?? '').matchAll(/^\| `([^`]+)`/gm),
];
const documented = folders.map(([, folder]) => folder);

describe('the table of folders in docs/architecture.md', () => {
  it('has every folder of the source, and no other', () => {
    const found = readdirSync(join(ROOT, 'src')).map((name) => `src/${name}`);
    expect([...documented].sort()).toEqual(['projections', ...found].sort());
  });

  it('is the list of rings that `npm run check` applies, in the same order', () => {
    const list = /const RINGS = \[([^\]]*)\]/.exec(read('.dependency-cruiser.cjs'))?.[1] ?? '';
    const rings = [...list.matchAll(/'([^']+)'/g)].map(([, ring]) =>
      ring === 'src/main' ? 'src/main.ts' : ring,
    );
    expect(documented).toEqual(rings);
  });
});
