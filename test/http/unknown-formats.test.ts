import { type ErrorList, notes } from './asking-notes';

const asked = notes();

describe('an extension that is no format (decisions A1)', () => {
  it.each([
    ['GET', '/1.0/notes.jsn;word=a', '7: .jsn: unknown format; expected .json, .xml, .csv'],
    ['HEAD', '/1.0/notes.jsn;word=a', '7: .jsn: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/notes.JSON', '7: .JSON: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/notes.txt.json', '7: .txt: unknown format; expected .json, .xml, .csv'],
    ['GET', '/1.0/none.jsn', '7: no module is called "none.jsn" under /1.0/'],
    ['PUT', '/1.0/notes.jsn', '7: no module is called "notes.jsn" under /1.0/'],
    ['GET', '/1.0/notes/a.b/c', '404: /1.0/notes/a.b/c: URL does not exist'],
  ] as const)('%s %s is 404, and its message lists the formats: %s', async (method, url, failure) => {
    const answer = await asked.app.inject({ method, url });
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, `${error?.code}: ${error?.message}`]).toEqual([404, failure]);
  });
});
