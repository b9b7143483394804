import { type AnswerOf, type Kind } from '../wire/record/record';
import * as ui from './content';
import { type Answered, type SentKeys, type Operator } from './operator';

/** Items on a page. */
const SIZE = 100;

/** How lists of the API are continued: the keys of a page, and those of the next one, if there is one. */
interface Paging {
  readonly keys: (asked: ui.Asked) => ui.Asked;
  readonly next: (asked: ui.Asked, read: PageOfRows) => ui.Asked | undefined;
}

interface PageOfRows {
  readonly rows: readonly unknown[];
  readonly total: number | undefined;
  readonly next: string | undefined;
}

const PAGINGS = {
  page: {
    keys: ({ page }) => ({ page, pageSize: String(SIZE) }),
    next: ({ page = '1' }, { rows }) => (rows.length < SIZE ? undefined : { page: String(Number(page) + 1) }),
  },
  offset: {
    keys: ({ offset }) => ({ offset, limit: String(SIZE) }),
    next: ({ offset = '0' }, { total = 0 }) =>
      Number(offset) + SIZE < total ? { offset: String(Number(offset) + SIZE) } : undefined,
  },
  cursor: {
    keys: ({ cursor = '*' }) => ({ cursor, pageSize: String(SIZE) }),
    next: (_, { next: cursor }) => (cursor === undefined ? undefined : { cursor }),
  },
  before: {
    keys: ({ before }) => ({ before, limit: String(SIZE) }),
    next: (_, { rows }) =>
      rows.length < SIZE
        ? undefined
        : { before: String((rows.at(-1) as { readonly number: number }).number) },
  },
  whole: { keys: () => ({}), next: () => undefined },
} as const satisfies Readonly<Record<string, Paging>>;

/** How an answer is shown: the fields of the page are keys of the operation. */
interface ShownList<K extends Kind, Row> extends Pick<ui.ConsolePage, 'actions' | 'fields'> {
  /** `none` is shown without rows. */
  readonly page: readonly [name: string, title: string, caption: string, none: string];
  readonly from: readonly [operation: Answered<K>, path: string, paging: keyof typeof PAGINGS];
  /** Further keys. */
  readonly keys?: ui.Asked;
  readonly rows: (answer: AnswerOf<K>) => readonly Row[];
  readonly columns: ui.Columns<Row>;
  /** Shown before the table. */
  readonly before?: (asked: ui.Asked, rows: readonly Row[]) => ui.Body | undefined | false;
  readonly isLive?: true;
}

export interface ListPage extends ui.ConsolePage {
  /** The list with other keys, as a part of another page. */
  readonly part: (operator: Operator, keys: ui.Asked) => Promise<ui.Body>;
}

/** A list of the API as a page. */
export function listPage<K extends Kind, Row>(list: ShownList<K, Row>): ListPage {
  const [name, title, caption, none] = list.page;
  const [operation, path, paged] = list.from;
  const { fields = [], actions = {}, columns } = list;
  const paging: Paging = PAGINGS[paged];
  const read = async (operator: Operator, asked: ui.Asked, page: ui.Asked) => {
    const keys = fields.map(({ name: key, isList }): readonly [string, SentKeys[string]] => {
      const value = asked[key];
      return [key, isList === true ? value?.split(',') : value];
    });
    const sent: SentKeys = { ...Object.fromEntries(keys), ...list.keys, ...page };
    const { answer, ...found } = await operator.page(operation, path, sent);
    return { ...found, rows: list.rows(answer) };
  };
  const bodies = async (operator: Operator, asked: ui.Asked): Promise<ui.Bodies> => {
    const found = await read(operator, asked, paging.keys(asked));
    const next = paging.next(asked, found);
    return [
      found.total !== undefined && ui.facts({ Found: found.total }),
      list.before?.(asked, found.rows),
      ui.table(found.rows, none, columns, asked),
      next !== undefined && ui.links(ui.linked('Next', name, { ...asked, ...next })),
    ];
  };
  return {
    ...{ name, title, fields, actions },
    part: async (operator, keys) => ui.table((await read(operator, {}, keys)).rows, none, columns, keys),
    sections: (operator, asked) => [ui.section(name, caption, () => bodies(operator, asked), list.isLive)],
  };
}
