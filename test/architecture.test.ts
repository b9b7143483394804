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

/** Names of types that may be declared twice. Only ever lower it. */
const MOST_REPEATED = 5;

/** `The way of a product`, and what it says. */
const ways = [
  ...read('docs/architecture.md').matchAll(/^## (The way of .*|Notifications)\n([^]*?)(?=^## )/gm),
].map(([, title = '', text = '']) => [title, text] as const);

/** Every file of the source. */
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)
  .concat(readdirSync(join(ROOT, 'projections')).map((name) => `projections/${name}`));
const code = new Set(sources.flatMap((file) => read(file).match(/\w+/g) ?? []));

describe.each(ways)('%s in docs/architecture.md', (_, text) => {
  const named = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
  const isIn = (folders: readonly string[], file: string): boolean =>
    folders.some((folder) => sources.some((one) => `/${one}`.endsWith(`/${folder}${file}`)));

  it('names files without a path only beside others that it names with their path', () => {
    const files = named.filter((name) => name.endsWith('.ts'));
    const folders = files
      .map((name) => name.slice(0, name.lastIndexOf('/') + 1))
      .filter((name) => name !== '');
    const inside = named.filter((name) => name.endsWith('/'));
    const lost = files.filter(
      (name) => !isIn(name.includes('/') ? ['', ...folders] : [...folders, ...inside], name),
    );
    expect(lost).toEqual([]);
  });

  it('names classes, functions and events that the source has', () => {
    const names = named.filter((name) => /^@?[A-Za-z]+(\.[A-Za-z]+)?$/.test(name) && !name.endsWith('.ts'));
    expect(
      names.filter(
        (name) =>
          !name
            .replace('@', '')
            .split('.')
            .every((part) => code.has(part)),
      ),
    ).toEqual([]);
  });
});

it('names of types mean one thing: few are declared more than once', () => {
  const declared = /^(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm;
  const times = new Map<string, number>();
  for (const file of sources)
    for (const [, name = ''] of read(file).matchAll(declared)) times.set(name, (times.get(name) ?? 0) + 1);
  const repeated = [...times].filter(([, count]) => count > 1).map(([name]) => name);
  // Those that remain are private to modules that have nothing to do with each other.
  expect(repeated.slice(MOST_REPEATED)).toEqual([]);
});

it('folders of tests are named like those of the source, or described in CONTRIBUTING.md', () => {
  const described = [...read('CONTRIBUTING.md').matchAll(/`test\/(\w+)\/`/g)].map(([, folder]) => folder);
  const named = documented.map((folder) => folder?.replace('src/', ''));
  const folders = readdirSync(__dirname).filter((name) => !name.endsWith('.ts'));
  expect(folders.filter((name) => ![...described, ...named].includes(name))).toEqual([]);
});

describe('docs and comments', () => {
  const inFolder = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`);
  const all = [
    ...readdirSync(ROOT),
    ...['bench', 'docs', 'projections', 'scripts', 'src', 'test'].flatMap(inFolder),
  ];
  const written = all.filter((file) =>
    /^(docs\/.*\.md|CONTRIBUTING\.md|README\.md|(src|projections|bench|test)\/.*\.ts)$/.test(file),
  );
  const isHere = (name: string): boolean =>
    all.some((file) => file === name || file === `${name}.ts` || file.endsWith(`/${name}`));

  it('name files and folders that exist', () => {
    const missing = written.flatMap((file) => {
      const text = read(file);
      const files = text.matchAll(/`((?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|cjs|mjs))`/g);
      const inside = text.matchAll(/`((?:src|test|docs|bench|projections)\/[\w/-]*\w)\/?`/g);
      const names = [...files, ...inside].map(([, name = '']) => name);
      return names.filter((name) => !isHere(name)).map((name) => `${file}: ${name}`);
    });
    expect(missing).toEqual([]);
  });
});
