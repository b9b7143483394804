import { validateXML, type XMLFileInfo } from 'xmllint-wasm';
import { type TestApp } from './app';

/** Validates documents with libxml2 and a schema that the application serves; returns the errors. */
export async function faultsBySchema(
  app: TestApp,
  file: string,
  documents: readonly string[],
): Promise<string[]> {
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
  return errors.map(({ message, loc }) => `${loc?.fileName ?? ''}: ${message}`);
}
