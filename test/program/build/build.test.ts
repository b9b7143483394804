import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DIST } from '../../support/built';

const ROOT = join(__dirname, '../../..');
const COMPILING = 'build: compiling the sources, which takes up to half a minute ...\n';
const COMPILED: unknown = expect.stringMatching(/^build: compiling .*\nbuild: done in \d+ s\n$/);

/** A project of two files with the build script of this one, built once; each test has a copy. */
let built: string;
let project: string;
beforeAll(() => {
  built = project = mkdtempSync(join(tmpdir(), 'affilog-build-'));
  mkdirSync(join(project, 'src'));
  cpSync(join(ROOT, 'scripts'), join(project, 'scripts'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  const compilerOptions = { module: 'Node16', types: [], lib: ['ES5'], rootDir: '.', outDir: 'dist' };
  write('tsconfig.json', JSON.stringify({ compilerOptions }));
  write('tsconfig.build.json', JSON.stringify({ extends: './tsconfig.json', include: ['src', 'missing'] }));
  write('package.json', '{}');
  write('package-lock.json', '{"a":1}');
  write('src/main.ts', 'export const version = 1;');
  write('src/other.ts', 'export const other = 1;');
  expect(build()).toEqual({ code: 0, said: COMPILED });
});
afterAll(() => rmSync(built, { recursive: true }));
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'affilog-build-'));
  cpSync(built, project, { recursive: true, verbatimSymlinks: true });
});
afterEach(() => rmSync(project, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(project, name), text);
const output = (name: string) => readFileSync(join(project, 'dist', name), 'utf8');
const builds = () => readdirSync(project).filter((name) => name.startsWith('.dist-'));

function build(): { readonly code: number | null; readonly said: string } {
  const script = join(project, 'scripts/build.mjs');
  const { status, stderr, stdout } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  return { code: status, said: stderr + stdout };
}

describe('npm run build (ADR 23)', () => {
  it('compiles what has changed, says so, and does nothing otherwise', () => {
    expect(output('src/main.js')).toContain('version = 1');
    expect(build()).toEqual({ code: 0, said: '' });
    write('src/main.ts', 'export const version = 2;');
    expect(build()).toEqual({ code: 0, said: COMPILED });
    expect(output('src/main.js')).toContain('version = 2');
  });

  it('goes by contents, not by times: Git changes those', () => {
    utimesSync(join(project, 'src/main.ts'), new Date(), new Date());
    expect(build()).toEqual({ code: 0, said: '' });
    write('src/main.ts', 'export const version = 2;');
    utimesSync(join(project, 'src/main.ts'), 1, 1);
    expect(build()).toEqual({ code: 0, said: COMPILED });
    // Another branch, and back.
    write('src/main.ts', 'export const version = 1;');
    expect(build()).toEqual({ code: 0, said: '' });
    expect(output('src/main.js')).toContain('version = 1');
  });

  it('leaves nothing of a source file that was deleted', () => {
    expect(existsSync(join(project, 'dist/src/other.js'))).toBe(true);
    rmSync(join(project, 'src/other.ts'));
    expect(build()).toEqual({ code: 0, said: COMPILED });
    expect(existsSync(join(project, 'dist/src/other.js'))).toBe(false);
  });

  it.each(['package-lock.json', 'tsconfig.json'])('compiles again when %s has changed', (name) => {
    write(
      name,
      `${readFileSync(join(project, name), 'utf8')}
`,
    );
    expect(build()).toEqual({ code: 0, said: COMPILED });
  });

  it('leaves dist as it was when the sources have errors, and names them', () => {
    write('src/main.ts', 'export const version: number = "two";');
    const { code, said } = build();
    expect(code).toBe(1);
    expect(said).toMatch(/^src\/main\.ts\(1,14\): error TS2322: /m);
    expect(said.endsWith('build: dist remains as it was\n')).toBe(true);
    expect(output('src/main.js')).toContain('version = 1');
    expect(builds()).toHaveLength(1);
  });

  it('leaves dist as it was when it is killed, and starts over', async () => {
    write('src/main.ts', 'export const version = 2;');
    const child = spawn(process.execPath, [join(project, 'scripts/build.mjs')], { detached: true });
    const [said] = (await once(child.stderr, 'data')) as [Buffer];
    expect(said.toString()).toBe(COMPILING);
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await once(child, 'exit');
    expect(output('src/main.js')).toContain('version = 1');
    // What it leaves if it is killed while it writes.
    cpSync(
      join(realpathSync(join(project, 'dist')), 'src'),
      join(project, `.dist-unfinished-${child.pid}/src`),
      {
        recursive: true,
      },
    );
    expect(build()).toEqual({ code: 0, said: COMPILED });
    expect(output('src/main.js')).toContain('version = 2');
  });

  it('keeps the files of earlier builds, which running servers use, and removes the oldest of more than ten', () => {
    const first = realpathSync(join(project, 'dist'));
    write('src/main.ts', 'export const version = 2;');
    build();
    expect(readFileSync(join(first, 'src/main.js'), 'utf8')).toContain('version = 1');
    for (let n = 0; n < 12; n += 1) {
      mkdirSync(join(project, `.dist-${n}`));
      utimesSync(join(project, `.dist-${n}`), n, n);
    }
    build();
    expect(builds()).toHaveLength(10);
    expect(existsSync(first)).toBe(true);
    expect(builds()).not.toContain('.dist-0');
  });

  it('replaces the folder of earlier versions of this script', () => {
    rmSync(join(project, 'dist'));
    mkdirSync(join(project, 'dist/src'), { recursive: true });
    write('dist/src/old.js', '');
    expect(build()).toEqual({ code: 0, said: '' });
    expect(readdirSync(join(project, 'dist/src'))).toEqual(['main.js', 'other.js']);
  });

  it('compiles all sources of this project, and nothing that it does not check for changes', () => {
    const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8')) as {
      readonly include: readonly string[];
    };
    const compiled = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    );
    expect(compiled.length).toBeGreaterThan(100);
    for (const name of compiled) expect(include.some((folder) => name.startsWith(`${folder}/`))).toBe(true);
  });
});
