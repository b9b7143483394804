import { DatabaseSync } from '@photostructure/sqlite';

/** What the search index of a generation consists of. */
interface StoredManifest {
  /** How many segments there are. */
  readonly segments: number;
  /** The numbers of those that a merge writes, and of those that were replaced. */
  readonly writing: readonly number[];
  readonly replaced: readonly number[];
}

/** Reads it from the file of a generation. */
export function manifestOf(path: string): StoredManifest {
  const file = new DatabaseSync(path, { readOnly: true, returnArrays: true });
  try {
    // One statement, so that both are of one moment.
    const rows = file
      .prepare("SELECT name, bytes FROM blobs WHERE name = 'manifest' OR name GLOB 'partition/*'")
      .all() as unknown as readonly (readonly [name: string, bytes: Uint8Array])[];
    // Without the checksums.
    const parsed = rows.map(([name, bytes]): [string, unknown] => [
      name,
      JSON.parse(Buffer.from(bytes).subarray(0, -4).toString()),
    ]);
    const { manifest, ...partitions } = Object.fromEntries(parsed) as Readonly<
      Record<string, readonly unknown[]>
    > & { readonly manifest?: Pick<StoredManifest, 'writing' | 'replaced'> };
    const segments = Object.values(partitions).reduce((sum, { length }) => sum + length, 0);
    return { segments, writing: manifest?.writing ?? [], replaced: manifest?.replaced ?? [] };
  } finally {
    file.close();
  }
}
