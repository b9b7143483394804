import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type BodyFormat } from '../../wire/api/format';
import { postedFromJson } from '../../wire/json/read';
import { NotParsable } from '../../wire/not-parsable';
import { isPosted } from '../../wire/api/posted';
import { type List, type RecordKind } from '../../wire/record/record';
import { type ListBody, type PostedItems, postedItems } from '../../wire/api/posted-list';
import { postedFromXml } from '../../wire/xml/posted';
import { parseXml } from '../../wire/xml/read';

/** A posted record in the shape of JSON, unchecked; raises CON_310 for what cannot be read. */
export function readOne({ of, each }: List<RecordKind>, bytes: Buffer, format: BodyFormat): unknown {
  return readable(() => {
    if (format === 'json') {
      const found = postedFromJson(bytes);
      if (!isPosted(found)) throw new NotParsable('expected one object; lists are posted to …/bulk');
      return found;
    }
    const root = parseXml(bytes);
    if (root.name !== each) throw new NotParsable(`expected the root element ${each}, found ${root.name}`);
    return postedFromXml(of(), root);
  });
}

/** A posted list, each item unchecked. Raises CON_310 for what cannot be read. */
export async function readSeveral(
  body: { readonly chunks: () => AsyncIterable<Buffer> },
  format: BodyFormat,
  list: ListBody,
): Promise<PostedItems> {
  try {
    return await postedItems(body.chunks(), format, list);
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
}
