// `npm run build`: compiles the project, unless the same sources have been compiled before.
//
// Each build has a folder of its own, `.dist-<hash of everything it is made of>`, and `dist` is a symbolic link to the
// current one. Node.js resolves the link when a process starts, so a running server keeps the files of its own build.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PROJECT = 'tsconfig.build.json';
/** What the output depends on besides the sources. The last one lists the packages that are really installed. */
const CONFIGURATION = [
  'scripts/build.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  PROJECT,
  'node_modules/.package-lock.json',
];
const PROGRAM = 'src/main.js';
/** Texts that servers show: a build has its own, as of when it was made. */
const TEXTS = 'docs';
const PREFIX = '.dist-';
/** Builds that stay: one that a running server was started from should be among them. */
const RETAINED = 10;

const pathOf = (name) => join(ROOT, name);
const say = (text) => process.stderr.write(`build: ${text}\n`);

function texts() {
  const names = existsSync(pathOf(TEXTS)) ? readdirSync(pathOf(TEXTS)) : [];
  return names.filter((name) => name.endsWith('.md')).map((name) => `${TEXTS}/${name}`);
}

function filesBelow(name) {
  const entries = readdirSync(pathOf(name), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${name}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** A hash of the names and contents of all files that a build is made of. Times do not count: Git changes them. */
function hashOfInputs() {
  const { include } = JSON.parse(readFileSync(pathOf(PROJECT), 'utf8'));
  const folders = include.filter((name) => existsSync(pathOf(name)));
  const names = [
    ...CONFIGURATION.filter((name) => existsSync(pathOf(name))),
    ...folders.flatMap(filesBelow),
    ...texts(),
  ];
  const hash = createHash('sha256');
  for (const name of names.sort()) {
    const content = readFileSync(pathOf(name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

function compile(folder) {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const args = [tsc, '-p', PROJECT, '--outDir', folder];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  mkdirSync(pathOf(`${folder}/${TEXTS}`), { recursive: true });
  for (const name of texts()) copyFileSync(pathOf(name), pathOf(`${folder}/${name}`));
  return status === 0;
}

/** Compiles into a folder of its own and returns its name; undefined if the sources have errors. */
function build() {
  for (;;) {
    const hash = hashOfInputs();
    const name = PREFIX + hash;
    if (existsSync(pathOf(name))) return name;
    const started = performance.now();
    const seconds = () => Math.round((performance.now() - started) / 1000);
    say('compiling the sources, which takes up to half a minute ...');
    const unfinished = `${PREFIX}unfinished-${process.pid}`;
    // Of a process that had the same number and was killed.
    rmSync(pathOf(unfinished), { recursive: true, force: true });
    const isCompiled = compile(unfinished);
    // Sources that changed meanwhile may be a mixture.
    if (isCompiled && hashOfInputs() === hash) {
      chmodSync(pathOf(join(unfinished, PROGRAM)), 0o755);
      moveUnlessThere(unfinished, name);
      say(`done in ${seconds()} s`);
      return name;
    }
    rmSync(pathOf(unfinished), { recursive: true, force: true });
    if (!isCompiled) return undefined;
    say('the sources have changed meanwhile');
  }
}

/** Another process may have made the same build: then that one is used. */
function moveUnlessThere(from, to) {
  try {
    renameSync(pathOf(from), pathOf(to));
  } catch (error) {
    if (!existsSync(pathOf(to))) throw error;
    rmSync(pathOf(from), { recursive: true, force: true });
  }
}

/** Lets `dist` be this build: at every moment it is either the old one or the new one. */
function swap(name) {
  const now = new Date();
  utimesSync(pathOf(name), now, now);
  const dist = lstatSync(pathOf('dist'), { throwIfNoEntry: false });
  if (dist?.isSymbolicLink() && readlinkSync(pathOf('dist')) === name) return;
  if (dist?.isDirectory()) renameSync(pathOf('dist'), pathOf(`${PREFIX}replaced-${process.pid}`));
  const link = `${PREFIX}link-${process.pid}`;
  rmSync(pathOf(link), { force: true });
  symlinkSync(name, pathOf(link));
  renameSync(pathOf(link), pathOf('dist'));
}

/** Removes the builds that have not been used for longest. */
function removeOld(current) {
  const used = (name) => statSync(pathOf(name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const others = readdirSync(ROOT).filter((name) => name.startsWith(PREFIX) && name !== current);
  others.sort((a, b) => used(b) - used(a));
  for (const name of others.slice(RETAINED - 1)) rmSync(pathOf(name), { recursive: true, force: true });
}

const name = build();
if (name === undefined) {
  say('dist remains as it was');
  process.exitCode = 1;
} else {
  swap(name);
  removeOld(name);
}
