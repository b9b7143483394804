import { setImmediate as turn } from 'node:timers/promises';
import { validateXML, type XMLFileInfo } from 'xmllint-wasm';
import { type TestApp } from './app';

/** The fault of a document, by its number; without one if it is that of the schema. */
interface Fault {
  readonly at: number | undefined;
  readonly message: string;
}

/** Documents that are validated together. */
interface Batch {
  readonly documents: string[];
  readonly faults: Promise<readonly Fault[]>;
}

const batches = new WeakMap<TestApp, Map<string, Batch>>();

/**
 * Validates documents with libxml2 and a schema that the application serves; returns the errors. What is asked for
 * together is validated together, since each run of libxml2 takes a thread of its own.
 */
export async function faultsBySchema(
  app: TestApp,
  file: string,
  documents: readonly string[],
): Promise<string[]> {
  const ofApp = batches.get(app) ?? new Map<string, Batch>();
  batches.set(app, ofApp);
  const batch = ofApp.get(file) ?? newBatch(app, file, () => ofApp.delete(file));
  ofApp.set(file, batch);
  const first = batch.documents.length;
  batch.documents.push(...documents);
  const own = (await batch.faults).filter(
    ({ at }) => at === undefined || (at >= first && at < first + documents.length),
  );
  return own.map(({ at, message }) => `${at === undefined ? '' : at - first}: ${message}`);
}

function newBatch(app: TestApp, file: string, close: () => void): Batch {
  const documents: string[] = [];
  const validated = async (): Promise<readonly Fault[]> => {
    await turn();
    close();
    return await validate(app, file, documents);
  };
  return { documents, faults: validated() };
}

async function validate(app: TestApp, file: string, documents: readonly string[]): Promise<readonly Fault[]> {
  const fetched = async (fileName: string): Promise<XMLFileInfo> => {
    const { statusCode, body } = await app.get(`/1.0/schemas/${fileName}`);
    if (statusCode !== 200) throw new Error(body);
    return { fileName, contents: body };
  };
  const schema = await fetched(file);
  const imported = [...String(schema.contents).matchAll(/schemaLocation="([^"]+)"/g)];
  const { errors } = await validateXML({
    xml: documents.map((contents, at) => ({ fileName: `${at}.xml`, contents })),
    schema,
    preload: await Promise.all(imported.map(([, name = '']) => fetched(name))),
  });
  return errors.map(({ message, loc }) => {
    const [, at] = /^(\d+)\.xml$/.exec(loc?.fileName ?? '') ?? [];
    return { at: at === undefined ? undefined : Number(at), message };
  });
}
