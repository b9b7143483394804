import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { layoutFolder } from '../src/engines/embedded/store/registry';
import { type Bench, type Figure } from './harness';
import { PUBLISHER_TOKEN } from './network';
import { bodyOf } from './products';
import { Server } from './server';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
/** The loaded feed, and the one downloaded meanwhile. */
const [LOADED, DOWNLOADED] = [1, 2] as const;
const FORMATS = ['json', 'xml', 'csv'] as const;
const LOOK_MS = 100;
const MB = 1_000_000;
/** Maximum MB of one WAL. */
const LIMIT = 1_000;

/**
 * The largest WAL of a read model, in MB, while ten times the count of products is loaded and projected, and another
 * feed is downloaded in every format over and over, so that there always is a snapshot; and the size afterwards.
 */
export async function wal(bench: Bench): Promise<readonly Figure[]> {
  const dataDir = join(bench.folder, 'wal');
  const server = await Server.start(dataDir, 'api,projector');
  const sizes = new Sizes(layoutFolder(join(dataDir, 'read')));
  try {
    const position = await server.post(DOWNLOADED, 'json', Readable.from(bodyOf('json', bench.count)));
    await server.shows(position);
    let ends = false;
    let downloads = 0;
    const download = async (format: string): Promise<void> => {
      while (!ends) {
        await server.take(`/1.0/productsUnlimited.${format};fid=${DOWNLOADED}?token=${PUBLISHER_TOKEN}`);
        downloads += 1;
      }
    };
    const load = async (): Promise<void> => {
      const body = Readable.from(bodyOf('json', bench.count * TIMES));
      await server.shows(await server.post(LOADED, 'json', body));
    };
    const watch = async (): Promise<void> => {
      while (!ends) {
        await sizes.look();
        await pause(LOOK_MS);
      }
    };
    await Promise.all([load().finally(() => (ends = true)), watch(), ...FORMATS.map(download)]);
    return [
      figureOf('wal', sizes.largest, LIMIT),
      figureOf('wal after', await sizes.look(), LIMIT),
      {
        figure: 'wal downloads',
        measured: downloads,
        limit: 1,
        ratio: 1 / downloads,
        goal: null,
        unit: 'downloads',
      },
    ];
  } finally {
    await server.stop();
  }
}

/** Sizes of the WALs in a folder. */
class Sizes {
  largest = 0;

  constructor(private readonly folder: string) {}

  /** The largest one now, in bytes. */
  async look(): Promise<number> {
    const names = (await readdir(this.folder)).filter((name) => name.endsWith('-wal'));
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(this.folder, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    const largest = Math.max(0, ...sizes);
    this.largest = Math.max(this.largest, largest);
    return largest;
  }
}

function figureOf(figure: string, bytes: number, limit: number): Figure {
  const measured = bytes / MB;
  return { figure, measured, limit, ratio: limit / Math.max(measured, 0.1), goal: 1, unit: 'MB' };
}
