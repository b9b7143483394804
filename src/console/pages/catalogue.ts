import { type Field, type Page, section } from '../content';
import { linked } from '../render';
import { REASON, SIZE, choice, line, nextNumber, nextPage, state, time } from './common';

interface MappedName {
  readonly feedId: number;
  readonly categoryName: string;
  readonly productCount: number;
  readonly state: string;
  readonly tdCategoryId?: string;
  readonly tdCategoryName?: string;
}

interface Feed {
  readonly feedId: number;
  readonly name: string;
  readonly active: boolean;
  readonly visible: boolean;
  readonly numberOfUnmappedCategories: number;
  readonly numberOfProducts: number;
  readonly lastModifiedTime: string | null;
  readonly programs: readonly { readonly programId: number; readonly name: string }[];
}

interface Voucher {
  readonly id: number;
  readonly title: string;
  readonly code: string;
  readonly programName: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

interface Product {
  readonly name: string;
  readonly brand?: string;
  readonly offers: readonly {
    readonly feedId: number;
    readonly sourceProductId: string;
    readonly programName: string;
    readonly price?: number;
  }[];
}

interface Suggested {
  readonly categoryName: string;
  readonly suggestions: readonly {
    readonly categoryId: string;
    readonly path: string;
    readonly score: number;
  }[];
}

export const feeds: Page = {
  name: 'feeds',
  title: 'Feeds',
  inMenu: true,
  sections: (operator) => [
    section('feeds', 'All feeds', async () => {
      const found = await operator.get<{ readonly feeds: readonly Feed[] }>('/ops/1.0/feeds');
      return {
        is: 'table',
        columns: ['Feed', 'Name', 'Programs', 'Active', 'Visible', 'Products', 'Unmapped', 'Changed', ''],
        none: 'The network has no feeds.',
        rows: found.feeds.map((one) => [
          linked(String(one.feedId), 'history', { kind: 'feed', id: one.feedId }),
          one.name,
          one.programs.map(({ programId, name }) => `${name} (${programId})`).join(', '),
          one.active ? true : { text: 'no', tone: 'bad' },
          one.visible ? true : { text: 'no', tone: 'bad' },
          one.numberOfProducts,
          one.numberOfUnmappedCategories,
          time(one.lastModifiedTime?.replace(/\+0000$/, 'Z')) ?? 'never loaded',
          linked('mappings', 'mappings', { fid: one.feedId }),
        ]),
      };
    }),
  ],
};

export const products: Page = {
  name: 'products',
  title: 'Products',
  inMenu: true,
  fields: (asked) => [
    { ...line(asked, 'publisher', 'As publisher (organisation) sees them', true) },
    line(asked, 'fid', 'Feeds', true),
    line(asked, 'q', 'Words'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => {
    const { publisher, fid, q, asOf, page } = asked;
    if (publisher === undefined || fid === undefined) return [];
    return [
      section('products', 'Products', async () => {
        const keys = { publisher, fid: fid.split(','), q, asOf, page, pageSize: SIZE };
        const { products: found } = await operator.get<{ readonly products: readonly Product[] }>(
          '/ops/1.0/products',
          keys,
        );
        return [
          {
            is: 'table',
            columns: ['Product', 'Name', 'Brand', 'Program', 'Price', ''],
            none: 'None that this publisher sees.',
            rows: found.flatMap(({ name, brand, offers }) =>
              offers.map(({ feedId, sourceProductId: id, programName, price }) => [
                linked(`${feedId} ${id}`, 'history', { kind: 'product', feedId, id }),
                name,
                brand ?? '',
                programName,
                price,
                linked('why?', 'why', { kind: 'product', feedId, id, publisher }),
              ]),
            ),
          },
          ...nextPage(products, asked, nextNumber(asked, found.length)),
        ];
      }),
    ];
  },
};

export const vouchers: Page = {
  name: 'vouchers',
  title: 'Vouchers',
  inMenu: true,
  fields: (asked) => [
    line(asked, 'publisher', 'As publisher (organisation) sees them', true),
    line(asked, 'keywords', 'Words'),
    line(asked, 'asOf', 'As of (name)'),
  ],
  sections: (operator, asked) => {
    const { publisher, keywords, asOf, page } = asked;
    if (publisher === undefined) return [];
    return [
      section('vouchers', 'Vouchers', async () => {
        const keys = { publisher, keywords, asOf, page, pageSize: SIZE, dateOutputFormat: 'iso8601' };
        const found = await operator.get<readonly Voucher[]>('/ops/1.0/vouchers', keys);
        return [
          {
            is: 'table',
            columns: ['Voucher', 'Title', 'Code', 'Program', 'From', 'To', ''],
            none: 'None that this publisher sees.',
            rows: found.map(({ id, title, code, programName, startDate, endDate }) => [
              linked(String(id), 'history', { kind: 'voucher', id }),
              title,
              code,
              programName,
              time(startDate),
              time(endDate),
              linked('why?', 'why', { kind: 'voucher', id, publisher }),
            ]),
          },
          ...nextPage(vouchers, asked, nextNumber(asked, found.length)),
        ];
      }),
    ];
  },
};

export const mappings: Page = {
  name: 'mappings',
  title: 'Mappings',
  inMenu: false,
  fields: (asked) => [
    line(asked, 'fid', 'Feed', true),
    choice(asked, 'state', 'State', ['mapped', 'unmapped']),
  ],
  sections: (operator, { fid, state: wanted }) => {
    if (fid === undefined || fid === '') return [];
    return [
      section('mappings', `Category names of feed ${fid}`, async () => {
        const [{ categoryMappings }, { suggestions }] = await Promise.all([
          operator.get<{ readonly categoryMappings: readonly MappedName[] }>('/ops/1.0/mappings', {
            fid,
            state: wanted,
          }),
          operator.get<{ readonly suggestions: readonly Suggested[] }>('/ops/1.0/mappings/suggestions', {
            fid,
          }),
        ]);
        const suggested = new Map(suggestions.map((one) => [one.categoryName, one.suggestions]));
        return [
          { is: 'links', links: [linked('Its history', 'history', { kind: 'feed', id: fid })] },
          {
            is: 'table',
            columns: ['Name', 'Products', 'State', 'Category', 'Change'],
            none: 'The feed has no category names.',
            rows: categoryMappings.map((one) => [
              one.categoryName,
              one.productCount,
              state(one.state),
              one.tdCategoryId === undefined ? '' : `${one.tdCategoryName ?? ''} (${one.tdCategoryId})`,
              one.state === 'mapped'
                ? {
                    is: 'action',
                    name: 'unmap',
                    label: 'Unmap',
                    known: { fid, name: one.categoryName },
                    fields: [REASON],
                  }
                : {
                    is: 'action',
                    name: 'map',
                    label: 'Map',
                    known: { fid, name: one.categoryName },
                    fields: [categoryField(suggested.get(one.categoryName) ?? []), REASON],
                  },
            ]),
          },
        ];
      }),
    ];
  },
  actions: {
    map: async (operator, { fid, name, categoryId, reason }) => {
      const mapping = { feedId: Number(fid), name, categoryId };
      await operator.change('POST', '/ops/1.0/mappings', { reason }, { mappings: [mapping] });
      return `“${name ?? ''}” is mapped to ${categoryId ?? ''}.`;
    },
    unmap: async (operator, { fid, name, reason }) => {
      await operator.change('DELETE', '/ops/1.0/mappings', { fid, name, reason });
      return `“${name ?? ''}” is no longer mapped.`;
    },
  },
};

function categoryField(suggestions: Suggested['suggestions']): Field {
  const field = { name: 'categoryId', label: 'Category', isRequired: true } as const;
  if (suggestions.length === 0) return field;
  return {
    ...field,
    choices: suggestions.map(({ categoryId, path }) => [categoryId, `${path} (${categoryId})`]),
  };
}
