import { type BodyFormat } from './format';
import { type ElementOrigin, JsonCutter } from '../json/cut';
import { noteRepeated, postedFromJson, valuesIn } from '../json/read';
import { NotParsable } from '../bytes';
import { NameList } from '../keys/name-list';
import { isPosted, note, notesOf, type Posted } from './posted';
import { postedFromXml, readXmlChildren, unreadOfRoot } from '../xml/nodes';
import { type List, type RecordKind } from '../record/record';

export interface ListBody {
  /** Its items; `most` of them. */
  readonly kind: List<RecordKind>;
  /** Its root element in XML; without one it is posted in JSON only. */
  readonly root?: string;
  /** In JSON, the only member of an object that it is; without one the list is the whole body. */
  readonly key?: string;
  /** Bytes that an item may have, in XML characters. */
  readonly maxItem: number;
  /** Unknown fields of items are left out, and only their first names are reported: a body may have millions. */
  readonly dropsUnknown?: true;
}

/** A list as it was read, each item still unchecked. */
export interface PostedItems {
  readonly items: readonly unknown[];
  /** The JSON text of each item, for messages; empty for XML. */
  readonly texts: readonly string[];
  /** Paths of what was not read around the items, and of what was left out of them. */
  readonly unread: readonly string[];
}

/**
 * Reads a posted list item by item while it arrives, so that neither its size nor the number of its items makes anybody
 * wait: reading stops at the first item too many. An item that is too large is noted, not read. Raises `NotParsable`.
 */
export async function postedItems(
  chunks: AsyncIterable<Buffer>,
  format: BodyFormat,
  list: ListBody,
): Promise<PostedItems> {
  const reader = format === 'json' ? new JsonItems(list) : new XmlItems(list);
  for await (const chunk of chunks) reader.write(chunk);
  return reader.end();
}

class Items {
  readonly items: unknown[] = [];
  private readonly dropped = new NameList();

  constructor(private readonly list: ListBody) {}

  get unread(): readonly string[] {
    return this.dropped.first();
  }

  add(item: unknown): void {
    this.push(this.list.dropsUnknown === true && isPosted(item) ? this.known(item) : item);
  }

  private known(item: Posted): Posted {
    const { fields } = this.list.kind.of();
    const { unread = NONE, repeated } = notesOf(item) ?? {};
    if (unread.size === 0 && !hasOther(item, fields)) return item;
    this.dropped.addAll(unread);
    const found: Record<string, unknown> = {};
    for (const name in item)
      if (Object.hasOwn(fields, name)) found[name] = item[name];
      else this.dropped.add(name);
    if (repeated !== undefined) note(found, { repeated });
    return found;
  }

  private push(item: unknown): void {
    const { most = Infinity } = this.list.kind;
    if (this.items.length === most)
      throw new NotParsable(`more than ${most} items: expected at most ${most}`);
    this.items.push(item);
  }

  addTooLarge(): void {
    const item = {};
    note(item, { maxBytes: this.list.maxItem });
    this.push(item);
  }
}

function hasOther(item: Posted, fields: object): boolean {
  for (const name in item) if (!Object.hasOwn(fields, name)) return true;
  return false;
}

const NONE: ReadonlySet<string> = new Set();

/** How deep an item may be nested: with the list around it 32 levels. */
const MAX_DEPTH = 31;

class JsonItems {
  private readonly found: Items;
  private readonly texts: string[] = [];
  private readonly cutter: JsonCutter;
  /** Elements that have ended in the present chunk, not parsed yet. */
  private ended: { readonly bytes: Buffer; readonly origin: ElementOrigin }[] = [];

  constructor(private readonly list: ListBody) {
    this.found = new Items(list);
    this.cutter = new JsonCutter({
      ...(list.key === undefined ? {} : { key: list.key, hasAnyElements: true }),
      maxElement: list.maxItem,
      maxDepth: MAX_DEPTH,
      onElement: (bytes, _, origin) => {
        this.ended.push({ bytes, origin });
      },
      onOversized: () => {
        this.takeEnded();
        this.found.addTooLarge();
        this.texts.push('');
      },
    });
  }

  write(chunk: Buffer): void {
    this.parse(() => this.cutter.write(chunk));
  }

  end(): PostedItems {
    this.parse(() => this.cutter.end());
    return { items: this.found.items, texts: this.texts, unread: this.found.unread };
  }

  private parse(step: () => void): void {
    try {
      step();
    } catch (error) {
      // What is wrong in them is before it.
      this.takeEnded();
      if (!(error instanceof NotParsable)) throw error;
      const problem = this.cutter.problem();
      throw problem === undefined ? error : new NotParsable(`the body is not JSON: ${problem}`);
    }
    this.takeEnded();
  }

  /** Parses all elements at once if they are well-formed, which takes a fraction of the time. */
  private takeEnded(): void {
    const { ended } = this;
    if (ended.length === 0) return;
    this.ended = [];
    const values = valuesIn(ended.map(({ bytes }) => bytes));
    for (const [at, { bytes, origin }] of ended.entries()) {
      const value = values === undefined ? postedFromJson(bytes, origin) : values[at];
      if (values !== undefined) noteRepeated(value, () => bytes.toString(), origin.members);
      this.found.add(value);
      this.texts.push(this.list.dropsUnknown === true ? '' : bytes.toString());
    }
  }
}

class XmlItems {
  private readonly found: Items;
  private readonly reader;

  constructor(list: ListBody) {
    const { root = '', kind, maxItem } = list;
    const { of, each } = kind;
    this.found = new Items(list);
    const require = (name: string, expected: string): void => {
      if (name !== expected)
        throw new NotParsable(
          `expected a root element ${root} with ${each} elements, found ${name.slice(0, 100)}`,
        );
    };
    this.reader = readXmlChildren({
      maxChild: maxItem,
      onRoot: (name) => require(name, root),
      onChild: (node) => {
        require(node.name, each);
        this.found.add(postedFromXml(of(), node));
      },
      onOversized: (name) => {
        require(name, each);
        this.found.addTooLarge();
      },
    });
  }

  write(chunk: Buffer): void {
    this.reader.write(chunk);
  }

  end(): PostedItems {
    const around = unreadOfRoot(this.reader.end());
    return { items: this.found.items, texts: [], unread: [...around, ...this.found.unread] };
  }
}
