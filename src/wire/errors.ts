import { type Fault } from '../kernel/fault';
import { type XmlElement } from './xml-write';

/**
 * The error list as JSON (Document 1, Errors; for all services `docs/decisions.md#a1`); empty, it tells of
 * success.
 */
export function errorsAsJson(faults: readonly Fault[]): object {
  return {
    errors: faults.map(({ code, message, details: { sourceProductId } }) => ({
      code,
      ...(sourceProductId === undefined ? {} : { sourceProductId }),
      message,
    })),
  };
}

/** The same as XML: root `Response` in the service's namespace. */
export function errorsAsXml(faults: readonly Fault[], namespace: string): XmlElement {
  const e = faults.map(({ code, message, details: { sourceProductId } }) => ({
    code,
    message,
    sourceProductId,
  }));
  return { Response: { $: { xmlns: namespace }, errors: { e } } };
}
