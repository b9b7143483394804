import { type Found } from '../../../kernel/query';
import { bodiesOf, foundOf, VERSION } from './bodies';
import { type GenerationFile } from './generation-file';

/** The documents of these ids that are there; with a limit of characters, the first ones. */
export function get({ file }: GenerationFile, ids: readonly string[], bodyLimit?: number): readonly Found[] {
  const query = `SELECT k.id, ${VERSION}, k.row FROM json_each(?) j CROSS JOIN keys k ON k.id = j.value`;
  return file.reading(() => {
    const rows = file.all(query, JSON.stringify([...new Set(ids)]));
    const bodies = bodiesOf(
      file,
      rows.map(([, , row]) => row),
      bodyLimit,
    );
    return bodies.flatMap((body, at) => foundOf(rows[at], body));
  });
}
