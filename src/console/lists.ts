import { type AnswerOf, type Kind } from '../wire/record/record';
import * as ui from './content';
import { type AnsweringOperation, type Operator, type NamedValues } from './operator';

/** Items on a page. */
const SIZE = 100;

interface PageOfRows {
  readonly rows: readonly unknown[];
  readonly total: number | undefined;
  readonly cursor: string | undefined;
}

/** How lists of the API are continued: by which keys, and those of the next page, if there is one. */
interface Paging {
  readonly keys: NamedValues;
  readonly next: (asked: ui.Asked, read: PageOfRows) => NamedValues | false | '' | undefined;
}

const PAGINGS = {
  cursor: { keys: { cursor: '*', pageSize: SIZE }, next: (_, { cursor }) => cursor && { cursor } },
  /** Pages are counted from 0. */
  page: {
    keys: { pageSize: SIZE },
    next: ({ page = '0' }, { rows }) => rows.length >= SIZE && { page: Number(page) + 1 },
  },
  offset: {
    keys: { limit: SIZE },
    next: ({ offset = '0' }, { total = 0 }) =>
      Number(offset) + SIZE < total && { offset: Number(offset) + SIZE },
  },
  before: {
    keys: { limit: SIZE },
    next: (_, { rows }) =>
      rows.length >= SIZE && { before: (rows.at(-1) as { readonly number: number }).number },
  },
  nothing: { keys: {}, next: () => false },
} as const satisfies Readonly<Record<string, Paging>>;

/** How an answer is shown: the fields of the page are keys of the operation. */
interface ShownList<K extends Kind, Row> extends Pick<ui.ConsolePage, 'actions' | 'fields'> {
  /** `none` is shown without rows. */
  readonly page: readonly [name: string, title: string, caption: string, none: string];
  readonly from: readonly [operation: AnsweringOperation<K>, continuedBy: keyof typeof PAGINGS];
  /** Further keys. */
  readonly keys?: NamedValues;
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
  const [operation, continuedBy] = list.from;
  const { fields = [], actions = {}, columns } = list;
  const paging: Paging = PAGINGS[continuedBy];
  const read = async (operator: Operator, values: NamedValues) => {
    const { answer, ...found } = await operator.page(operation, { ...values, ...list.keys });
    return { ...found, rows: list.rows(answer) };
  };
  const bodies = async (operator: Operator, asked: ui.Asked): Promise<ui.Bodies> => {
    const found = await read(operator, { ...paging.keys, ...asked });
    const next = paging.next(asked, found);
    return [
      found.total && ui.facts({ Found: found.total }),
      list.before?.(asked, found.rows),
      ui.table(found.rows, none, columns, asked),
      next && ui.links(ui.linked('Next', name, { ...asked, ...next })),
    ];
  };
  return {
    ...{ name, title, fields, actions },
    part: async (operator, keys) => ui.table((await read(operator, keys)).rows, none, columns, keys),
    sections: [ui.section(name, caption, bodies, list.isLive)],
  };
}
