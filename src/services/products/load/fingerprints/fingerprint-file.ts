import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fingerprints } from '../../../../domain/products/fingerprints';

/** Changes with the layout below or with the input of a digest. Files of another format are discarded. */
const FORMAT = 'affilog-fingerprints-3';

interface Header {
  readonly format: string;
  readonly feedId: number;
  readonly revision: number;
  readonly lastEvent: string;
  readonly removals: number;
  readonly products: number;
  readonly idBytes: number;
  readonly sha256: string;
}

/** Saves the fingerprints of a feed: writes a new file, then renames it over the old one. */
export async function saveFingerprints(path: string, feedId: number, prints: Fingerprints): Promise<void> {
  const { ends, bytes, contents, posted, prices, currencies, flags } = prints.columns();
  const parts = [prices, contents, posted, ends, currencies, flags, bytes].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  );
  const header: Header = {
    format: FORMAT,
    feedId,
    revision: prints.revision,
    lastEvent: prints.lastEvent,
    removals: prints.removals,
    products: prints.size,
    idBytes: bytes.length,
    sha256: sha256(parts),
  };
  await mkdir(dirname(path), { recursive: true });
  const file = await open(`${path}.new`, 'w');
  try {
    for (const part of [headerBytes(header), ...parts]) await file.appendFile(part);
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

/** Loads the saved fingerprints; undefined if there are none. Removes an unusable file. */
export async function loadFingerprints(path: string, feedId: number): Promise<Fingerprints | undefined> {
  const file = await readFile(path).catch(() => undefined);
  if (file === undefined) return undefined;
  const prints = decode(file, feedId);
  if (prints === undefined) await removeFingerprints(path);
  return prints;
}

/** Removes the file. A failure does no harm: the file is checked whenever it is loaded. */
export async function removeFingerprints(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

const HEADER_BYTES = 512;

function headerBytes(header: Header): Buffer {
  return Buffer.from(JSON.stringify(header).padEnd(HEADER_BYTES));
}

function decode(file: Buffer, feedId: number): Fingerprints | undefined {
  const header = parseHeader(file.toString('utf8', 0, HEADER_BYTES));
  if (header?.format !== FORMAT || header.feedId !== feedId) return undefined;
  const { products, idBytes } = header;
  const body = file.subarray(HEADER_BYTES);
  if (body.length !== products * (8 + 16 + 16 + 4 + 2 + 1) + idBytes || sha256([body]) !== header.sha256)
    return undefined;
  // Copies, aligned and writable.
  let offset = body.byteOffset;
  const take = (length: number): ArrayBuffer => {
    const copy = new ArrayBuffer(length);
    new Uint8Array(copy).set(new Uint8Array(body.buffer, offset, length));
    offset += length;
    return copy;
  };
  const prices = new Float64Array(take(products * 8));
  const contents = new Uint32Array(take(products * 16));
  const posted = new Uint32Array(take(products * 16));
  const ends = new Uint32Array(take(products * 4));
  const currencies = new Uint16Array(take(products * 2));
  const flags = new Uint8Array(take(products));
  const bytes = Buffer.from(take(idBytes));
  const prints = Fingerprints.fromColumns({ prices, currencies, contents, posted, ends, flags, bytes });
  prints.revision = header.revision;
  prints.lastEvent = header.lastEvent;
  prints.removals = header.removals;
  return prints;
}

function parseHeader(text: string): Header | undefined {
  try {
    return JSON.parse(text) as Header;
  } catch {
    return undefined;
  }
}

function sha256(parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
