import { type Fault, Faults } from '../kernel/fault';
import { errorsAsJson, errorsAsXml } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { jsonPieces } from '../wire/json/write';
import { jsonpPieces, type JsonpCall } from '../wire/json/jsonp';
import { xmlPieces } from '../wire/xml/write';
import { type Renderings } from './answer';
import { type Representation } from './representation';

/** A rendered answer; the pieces of its body are produced on demand. */
export interface Rendered {
  readonly status: number;
  readonly contentType: string;
  readonly body: Iterable<string>;
}

/** Writes a result in the format of the view. */
export function renderResult(renderings: Renderings, status: number, view: Representation): Rendered {
  if (view.format === 'xml' && renderings.xml !== undefined) {
    return { status, contentType: CONTENT_TYPES.xml, body: xmlPieces(renderings.xml(), view) };
  }
  const result = jsonPieces(renderings.json(), view);
  if (view.jsonp !== undefined) return called(view.jsonp, { result });
  return { status, contentType: CONTENT_TYPES.json, body: result };
}

/** Writes an error list (Document 1, Errors), empty for success; to CSV requests as JSON. */
export function renderErrors(
  faults: readonly Fault[],
  status: number,
  namespace: string | undefined,
  view: Representation,
): Rendered {
  if (view.jsonp !== undefined && faults.length > 0) {
    return called(view.jsonp, { statusCode: status, message: new Faults(faults).message });
  }
  const json = () => errorsAsJson(faults);
  return renderResult({ json, xml: () => errorsAsXml(faults, namespace) }, status, view);
}

/** A script with an error status would not run (`docs/decisions.md#a5`). */
function called(name: string, call: JsonpCall): Rendered {
  return { status: 200, contentType: CONTENT_TYPES.jsonp, body: jsonpPieces(name, call) };
}
