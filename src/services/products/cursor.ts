import { ListCursors } from '../../wire/keys/pages';
import { csvKeys } from './csv-keys';
import { productFaults as fault } from './faults';
import { type SearchKeys } from './search-keys';

/** The cursors of searches (`docs/decisions.md#p28`, `#x53`). */
export const searchCursors = new ListCursors<SearchKeys>({
  presentation: [
    ...(Object.keys(csvKeys) as (keyof typeof csvKeys)[]),
    'pageSize',
    'sourceproducturl',
    'priceHistory',
    'dateOutputFormat',
  ],
  excluded: ['page', 'limit', 'csvFlattenFields'],
  refuse: fault.illegalValue,
});
