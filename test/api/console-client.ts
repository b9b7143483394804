import { type Response, type TestApp } from '../support/app';
import { OTHER_TOKENS } from './network';

type Fields = Readonly<Record<string, string | number>>;

/** The cookies that an answer sets, by name. */
export function cookiesOf({ headers }: Response): ReadonlyMap<string, string> {
  const set = [headers['set-cookie'] ?? []].flat().map((one) => /^([^=]+)=([^;]*)/.exec(one));
  return new Map(set.flatMap((one) => (one === null ? [] : [[one[1] ?? '', one[2] ?? ''] as const])));
}

/** What forms of a page send along. */
export const formKey = ({ body }: Response): string => /name="form" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** What browsers do with the console: send forms, log in (`session` is a cookie), and get pages. */
export function consoleOf(app: () => TestApp) {
  const send = async (
    path: string,
    fields: Fields,
    cookie = '',
    headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<Response> => {
    const body = new URLSearchParams(
      Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const type = 'application/x-www-form-urlencoded';
    return await app().post(path, {
      headers: { 'content-type': type, cookie, ...headers },
      body: body.toString(),
    });
  };
  const session = async (key: string = OTHER_TOKENS.operator): Promise<string> => {
    const answer = await send('/console/login', { key });
    return `affilog_console=${cookiesOf(answer).get('affilog_console') ?? ''}`;
  };
  const get = (path: string, cookie = ''): Promise<Response> => app().get(path, { headers: { cookie } });
  return { send, session, get };
}
