import { conversionFaults as fault } from '../conversions/faults';
import { type BodyFormat } from '../wire/format';
import { parseJson } from '../wire/json-read';
import { NotParsable } from '../wire/not-parsable';
import { isPosted } from '../wire/posted';
import { type List, type RecordKind } from '../wire/record';
import { postedFromXml, unreadOfRoot } from '../wire/posted-xml';
import { parseXml } from '../wire/xml-read';

/** A posted record in the shape of JSON, unchecked; raises CON_310 for what cannot be read. */
export function readOne({ of, each }: List<RecordKind>, bytes: Buffer, format: BodyFormat): unknown {
  return readable(() => {
    if (format === 'json') {
      const found = parseJson(bytes);
      if (!isPosted(found)) throw new NotParsable('expected one object; lists are posted to …/bulk');
      return found;
    }
    const root = parseXml(bytes);
    if (root.name !== each) throw new NotParsable(`expected the root element ${each}, found ${root.name}`);
    return postedFromXml(of(), root);
  });
}

/** A posted list, each item unchecked, and paths of what was not read around the items. */
export interface PostedList {
  readonly items: readonly unknown[];
  readonly unread: readonly string[];
}

/** Raises CON_310 for what cannot be read. `root`: its root element in XML. */
export function readSeveral(
  { of, each, most = Infinity }: List<RecordKind>,
  root: string,
  bytes: Buffer,
  format: BodyFormat,
): PostedList {
  const { items, unread } = readable(() => {
    if (format === 'json') return { items: parseJson(bytes), unread: [] };
    const list = parseXml(bytes);
    const { name, children } = list;
    const strange = name === root ? children.find((child) => child.name !== each)?.name : name;
    if (strange !== undefined)
      throw new NotParsable(`expected a root element ${root} with ${each} elements, found ${strange}`);
    return { items: children.map((child) => postedFromXml(of(), child)), unread: unreadOfRoot(list) };
  });
  if (!Array.isArray(items)) throw fault.syntax('expected a list');
  if (items.length > most) throw fault.syntax(`${items.length} items: expected at most ${most}`);
  return { items, unread };
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
}
