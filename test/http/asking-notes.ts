import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { notesApp, TOKENS } from './notes-service';

/** What a request of the service of notes is made with. */
export const token = `token=${TOKENS.advertiser}`;
export const JSON_UTF8 = { 'content-type': 'application/json; charset=utf-8' };
export const XML_UTF8 = { 'content-type': 'application/xml; charset=utf-8' };

export interface ErrorList {
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}

export const codesOf = (body: string): readonly string[] =>
  (JSON.parse(body) as ErrorList).errors.map(({ code }) => code);

/** The service of notes, to be asked by the tests of a file: what it gives is there once they run. */
export function notes() {
  let app: NestFastifyApplication;
  let logged: string[];
  beforeAll(async () => {
    ({ app, logged } = await notesApp());
  });
  afterAll(() => app.close());
  return {
    get app() {
      return app;
    },
    get logged() {
      return logged;
    },
    get: (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers }),
    post: (url: string, headers: Record<string, string> = {}, payload: string | Buffer = '{}') =>
      app.inject({ method: 'POST', url, headers, payload }),
  };
}
