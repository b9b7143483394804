import { ignoredFields } from '../../wire/keys/name-list';
import { type Loaded, type LoadResult } from './load/loader';

/** What a post or a deletion has done, as headers of its answer (`docs/decisions.md#a15`). */
export function loadHeaders(loaded: Loaded & Partial<LoadResult>): Readonly<Record<string, string>> {
  const { loadId, counts } = loaded;
  const { new: listed, revised, repriced, unchanged, removed, refused, unmapped } = counts;
  const named = { new: listed, revised, repriced, unchanged, removed, refused, unmapped };
  return {
    ...(loadId === undefined ? {} : { 'X-Load-Id': loadId }),
    'X-Load-Counts': Object.entries(named)
      .map(([name, count]) => `${name}=${count}`)
      .join(', '),
    ...ignoredFields(loaded.ignoredFields ?? []),
  };
}
