import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import * as nest from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { encoded } from '../http/answer-writer';
import { ApiDescription, DescribeModule, StaticContent } from '../http/describe';
import { type FormField, STYLE } from '../http/html';
import { type PostedBody } from '../http/posted-body';
import { whenOver } from '../http/send-stream';
import { HttpParts } from '../http/service';
import { TOKEN, tokenHash } from '../network/organisations';
import { actionOperations } from '../operations/rest/actions.controller';
import { Clock } from '../runtime/clock';
import { httpFaults, openApiFaults } from '../wire/api/errors';
import { type OperationText } from '../wire/api/description';
import { CONTENT_TYPES } from '../wire/api/format';
import { SCRIPT } from './assets';
import { type Asked, type ConsolePage, type PageAction, pageAddress, type Section } from './content';
import { filled, Operator, Refused } from './operator';
import { MENU, PAGES } from './pages';
import { loginText, messageText, pageText, type Said, sectionText } from './render';
import { FailedLogins, SESSION_MS, Sessions } from './session';
import { SharedResults } from '../runtime/concurrency';

const COOKIE = 'affilog_console';
/** What the last change has said, until the next page is shown. */
const SAID = 'affilog_said';
const SAID_MS = 60_000;
/** Characters: each takes up to 9 in a cookie, of which browsers store 4,096. */
const MOST_SAID = 400;

const NO_TOKEN = 'This is no token of an operator for OPS.';

/** Bytes of a form. */
const MOST_FORM = 64 * 1024;

/** Pages that are kept up to date at a time, how often (ms), and after how long without news a line is sent (ms). */
const MOST_LIVE = 32;
const LIVE_MS = 2_000;
const QUIET_MS = 15_000;

const SECURITY = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; " +
    "form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

const [JAVASCRIPT, CSS] = ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'];

const plotFile = (name: string): Buffer => readFileSync(join(dirname(require.resolve('uplot')), name));

const FILES = new Map([
  ['script.js', new StaticContent(JAVASCRIPT, SCRIPT)],
  ['style.css', new StaticContent(CSS, STYLE)],
  ['uplot.js', new StaticContent(JAVASCRIPT, plotFile('uPlot.iife.min.js'))],
  ['uplot.css', new StaticContent(CSS, plotFile('uPlot.min.css'))],
]);

/** The routes of the console, which have sessions of their own instead of tokens, in Fastify's notation. */
export const CONSOLE_ROUTES = ['', '/:page', '/:page/live', '/files/:file'].map((path) => `/console${path}`);

/** A request within a session, or of a program with a token. */
interface Visit {
  readonly cookie: string;
  readonly operator: Operator;
}

/** Pages for operators (`docs/decisions.md#x124`): made on the server, of the operations under `/ops/1.0`. */
@nest.Controller('/console')
class ConsoleController implements nest.OnModuleDestroy {
  private readonly stop = new AbortController();
  private readonly failed = new FailedLogins();
  private live = 0;
  /** Live sections by the address of their page: who looks at the same one shares what was read. */
  private readonly shown: SharedResults<readonly Section[]>;

  constructor(
    private readonly options: HttpParts,
    private readonly sessions: Sessions,
    private readonly clock: Clock,
    private readonly host: HttpAdapterHost,
    private readonly description: ApiDescription,
  ) {
    this.shown = new SharedResults(clock, LIVE_MS);
  }

  onModuleDestroy(): void {
    this.stop.abort();
  }

  @nest.Get()
  start(@nest.Res() reply: FastifyReply): void {
    void reply.redirect(`${this.base}/overview`, 303);
  }

  @nest.Get('files/:file')
  file(@nest.Req() request: FastifyRequest, @nest.Res() reply: FastifyReply): void {
    const content = FILES.get(nameIn(request));
    if (content === undefined) throw httpFaults.notFound('/console has no such file');
    content.send(request, reply);
  }

  /** A page, or what it shows as JSON. */
  @nest.Get(':page')
  async page(@nest.Req() request: FastifyRequest, @nest.Res() reply: FastifyReply): Promise<void> {
    const name = nameIn(request);
    const asked = askedOf(queryOf(request));
    if (name === 'login') {
      await this.sendText(reply, 200, loginText(this.base, asked['to'] ?? ''));
      return;
    }
    await this.within(request, reply, async (visit) => {
      const page = pageNamed(name);
      if (page === undefined) {
        await this.sendMissing(reply, name);
        return;
      }
      const sections = await settled(page, visit.operator, asked);
      if (isJson(request)) {
        const shown = JSON.stringify({ page: page.name, title: page.title, asked, sections });
        await reply.headers(SECURITY).type(CONTENT_TYPES.json).send(shown);
        return;
      }
      const said = saidIn(request);
      if (said !== undefined) this.setCookie(reply, SAID, '', 0);
      const frame = this.frameOf(page, asked, visit);
      await this.sendText(reply, 200, pageText({ ...frame, page, menu: MENU, asked, sections, said }));
    });
  }

  /** Sends the live sections of a page whenever they have changed, as server-sent events. */
  @nest.Get(':page/live')
  async follow(@nest.Req() request: FastifyRequest, @nest.Res() reply: FastifyReply): Promise<void> {
    const visit = this.visitOf(request);
    const page = pageNamed(nameIn(request));
    if (visit === undefined) throw httpFaults.notFound('the session has ended');
    if (page === undefined) throw httpFaults.notFound('/console has no such page');
    if (this.live >= MOST_LIVE) throw httpFaults.overloaded(undefined, { retryAfter: 5 });
    const end = new AbortController();
    this.live += 1;
    whenOver(reply.raw, () => {
      this.live -= 1;
      end.abort();
    });
    const signal = AbortSignal.any([end.signal, this.stop.signal]);
    const news = Readable.from(this.news(page, visit, askedOf(queryOf(request)), signal));
    const headers = { ...SECURITY, 'X-Accel-Buffering': 'no' };
    await reply.headers(headers).type('text/event-stream').send(news);
  }

  /** Logs in or out, or does what a form of a page asks for. */
  @nest.Post(':page')
  async post(@nest.Req() request: FastifyRequest, @nest.Res() reply: FastifyReply): Promise<void> {
    const name = nameIn(request);
    const posted = askedOf((await (request.body as PostedBody).bytes(MOST_FORM)).toString('utf8'));
    if (!this.isFromHere(request)) throw httpFaults.badRequest('expected a form of the console');
    if (name === 'login') {
      await this.login(posted, request.ip, reply);
      return;
    }
    await this.within(request, reply, async ({ cookie, operator }) => {
      if (!this.sessions.isFormKey(cookie, posted['form'] ?? ''))
        throw httpFaults.badRequest('expected a form of this session: load the page again');
      if (name === 'logout') {
        this.setCookie(reply, COOKIE, '', 0);
        void reply.redirect(`${this.base}/login`, 303);
        return;
      }
      const action = Object.entries(pageNamed(name)?.actions ?? {}).find(
        ([one]) => one === posted['do'],
      )?.[1];
      if (action === undefined) {
        await this.sendMissing(reply, name);
        return;
      }
      const { tone, text } = await done(action, operator, posted);
      const said = encodeURIComponent(`${tone} ${text.slice(0, MOST_SAID).toWellFormed()}`);
      this.setCookie(reply, SAID, said, SAID_MS);
      void reply.redirect(`${this.base}/${pageAddress(name, askedOf(queryOf(request)))}`, 303);
    });
  }

  private async login({ key = '', to = '' }: Asked, address: string, reply: FastifyReply): Promise<void> {
    const token = key.trim();
    const now = this.clock.now().getTime();
    const wait = this.failed.begin(address, now);
    if (wait > 0) {
      const text = loginText(this.base, to, `Too many logins have failed: try again in ${wait} s.`);
      await this.sendText(reply.header('Retry-After', wait), 429, text);
      return;
    }
    const problem = await this.problemOf(token);
    if (problem !== undefined) {
      await this.sendText(reply, 403, loginText(this.base, to, problem));
      return;
    }
    this.failed.succeeded(address);
    this.setCookie(reply, COOKIE, this.sessions.seal({ token, ends: now + SESSION_MS }), SESSION_MS);
    const [name = '', query = ''] = to.split(/\?(.*)/s);
    const wanted = pageNamed(name) === undefined ? 'overview' : pageAddress(name, askedOf(query));
    void reply.redirect(`${this.base}/${wanted}`, 303);
  }

  /** Why nobody can log in with a token. */
  private async problemOf(token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return NO_TOKEN;
    try {
      await this.operatorWith(token).get(actionOperations.listActions, { limit: 1 });
      return undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return [401, 403].includes(error.status) ? NO_TOKEN : error.message;
    }
  }

  private operatorWith(token: string, gone?: AbortSignal): Operator {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const routeOf = ({ id }: OperationText) => this.description.operation(id);
    return new Operator({ inject: fastify.inject.bind(fastify), routeOf, token, gone });
  }

  private async *news(
    page: ConsolePage,
    visit: Visit,
    asked: Asked,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const sent = new Map<string, string>();
    let last = this.clock.monotonic();
    while (!signal.aborted) {
      // A session that has ended, or whose token was revoked, ends here too.
      const { token = '' } = this.sessions.open(visit.cookie, this.clock.now().getTime()) ?? {};
      if (this.options.callerOf(tokenHash(token))?.system !== 'OPS') return;
      const read = () => settled(page, visit.operator, asked, true);
      const live = await this.shown.get(pageAddress(page.name, asked), read).catch(() => undefined);
      if (live === undefined) return;
      for (const one of live) {
        const text = sectionText(one, this.frameOf(page, asked, visit));
        if (sent.get(one.id) === text) continue;
        yield `data: ${JSON.stringify({ id: one.id, text })}\n\n`;
        last = this.clock.monotonic();
        sent.set(one.id, text);
      }
      if (this.clock.monotonic() - last > QUIET_MS) {
        yield ':\n\n';
        last = this.clock.monotonic();
      }
      await this.clock.pause(LIVE_MS, signal).catch(() => undefined);
    }
  }

  /** Answers within a session; without one, or once its token is not valid any more, the login follows. */
  private async within(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: (visit: Visit) => Promise<void>,
  ): Promise<void> {
    const gone = new AbortController();
    // A page reads its sections at the same time.
    setMaxListeners(0, gone.signal);
    whenOver(reply.raw, () => gone.abort());
    try {
      // What is changed is completed, whoever leaves.
      const visit = this.visitOf(request, request.method === 'GET' ? gone.signal : undefined);
      if (visit === undefined) throw new Refused(401, 'the session has ended');
      await answer(visit);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (tokenIn(request) !== undefined) throw openApiFaults.invalidToken(NO_TOKEN);
      this.setCookie(reply, COOKIE, '', 0);
      if (isJson(request))
        throw httpFaults.notFound(
          'the session has ended: log in at /console/login, or send a token for OPS: Authorization: Bearer …',
        );
      const to =
        request.method === 'GET' ? pageAddress(nameIn(request), askedOf(queryOf(request))) : 'overview';
      void reply.redirect(`${this.base}/login?to=${encodeURIComponent(to)}`, 303);
    }
  }

  private visitOf(request: FastifyRequest, gone?: AbortSignal): Visit | undefined {
    const token = tokenIn(request);
    if (token !== undefined) {
      const isOperator = TOKEN.test(token) && this.options.callerOf(tokenHash(token))?.system === 'OPS';
      return isOperator ? { cookie: '', operator: this.operatorWith(token, gone) } : undefined;
    }
    const cookie = cookieIn(request, COOKIE);
    const session = this.sessions.open(cookie, this.clock.now().getTime());
    return session && { cookie, operator: this.operatorWith(session.token, gone) };
  }

  /** Whether a form was sent by a page of this server: browsers say which site has sent it. */
  private isFromHere({ headers }: FastifyRequest): boolean {
    const { origin, host, 'sec-fetch-site': site } = headers;
    if (site !== undefined) return site === 'same-origin';
    const own = [`http://${host}`, `https://${host}`, new URL(this.options.baseUrl()).origin];
    return origin === undefined || own.includes(origin);
  }

  private frameOf({ name }: ConsolePage, asked: Asked, { cookie }: Visit) {
    return { base: this.base, here: pageAddress(name, asked), formKey: this.sessions.formKey(cookie) };
  }

  /** The path of the console: a proxy may add a prefix. */
  private get base(): string {
    return `${new URL(this.options.baseUrl()).pathname.replace(/\/$/, '')}/console`;
  }

  private async sendMissing(reply: FastifyReply, name: string): Promise<void> {
    const text = `The console has no page “${name.slice(0, 100)}”, or not with this form.`;
    await this.sendText(reply, 404, messageText(this.base, 'No such page', text));
  }

  private async sendText(reply: FastifyReply, status: number, text: string): Promise<void> {
    const body = await encoded(Buffer.from(text), reply);
    void reply.code(status).headers(SECURITY).type('text/html; charset=utf-8').send(body);
  }

  private setCookie(reply: FastifyReply, name: string, value: string, ms: number): void {
    const secure = this.options.baseUrl().startsWith('https:') ? '; Secure' : '';
    const attributes = `Path=${this.base}; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(ms / 1000)}${secure}`;
    const others = [reply.getHeader('Set-Cookie') ?? []].flat().map(String);
    reply.header('Set-Cookie', [...others, `${name}=${value}; ${attributes}`]);
  }
}

/** Of the page, or of the file. */
function nameIn({ params }: FastifyRequest): string {
  return Object.values(params as Readonly<Record<string, string>>)[0] ?? '';
}

function pageNamed(name: string): ConsolePage | undefined {
  return PAGES.find((page) => page.name === name);
}

/** Does what a form asks for. */
async function done(action: PageAction, operator: Operator, posted: Asked): Promise<Said> {
  try {
    await operator.change(action.operation, posted, action.body?.(posted));
    return { tone: 'good', text: filled(action.done, posted) };
  } catch (error) {
    if (error instanceof Refused) return { tone: 'bad', text: error.message };
    throw error;
  }
}

/** Nothing without what is required. Raises `Refused` if the session's token is no longer valid. */
async function settled(
  { fields = [], sections }: ConsolePage,
  operator: Operator,
  asked: Asked,
  liveOnly = false,
): Promise<readonly Section[]> {
  const isAsked = ({ name, choices }: FormField): boolean =>
    asked[name] !== undefined && choices?.every(([value]) => value !== asked[name]) !== true;
  if (fields.some((field) => field.isRequired === true && !isAsked(field))) return [];
  const chosen = sections.filter(({ isLive }) => !liveOnly || isLive === true);
  return await Promise.all(
    chosen.map(async ({ read, title, ...one }) => ({
      ...{ ...one, title: typeof title === 'string' ? title : title(asked) },
      bodies: await read(operator, asked),
    })),
  );
}

function isJson({ target }: FastifyRequest): boolean {
  return target.extension === 'json';
}

/**
 * The token that a program sends for a page as JSON. It changes nothing, and pages of other sites cannot send the
 * header without being asked about it.
 */
function tokenIn(request: FastifyRequest): string | undefined {
  const { method, headers } = request;
  if (method !== 'GET' || !isJson(request)) return undefined;
  return /^bearer +(.*)$/i.exec(headers.authorization?.trim() ?? '')?.[1];
}

function queryOf({ originalUrl }: FastifyRequest): string {
  return originalUrl.split(/\?(.*)/s)[1] ?? '';
}

/** The last value of each name. */
function askedOf(query: string): Asked {
  return Object.fromEntries([...new URLSearchParams(query)].filter(([, value]) => value !== ''));
}

function cookieIn({ headers: { cookie = '' } }: FastifyRequest, name: string): string {
  const found = cookie.split(';').find((pair) => pair.trim().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1) ?? '';
}

function saidIn(request: FastifyRequest): Said | undefined {
  const [, tone, text] = /^(good|bad)%20(.*)$/.exec(cookieIn(request, SAID)) ?? [];
  try {
    return text === undefined
      ? undefined
      : { tone: tone === 'good' ? 'good' : 'bad', text: decodeURIComponent(text) };
  } catch {
    return undefined;
  }
}

/** The console. `key` seals its sessions: the same for all processes of an installation. */
@nest.Module({})
export class ConsoleModule {
  static with(key: Uint8Array): nest.DynamicModule {
    const providers = [{ provide: Sessions, useValue: new Sessions(key) }];
    return { module: ConsoleModule, imports: [DescribeModule], controllers: [ConsoleController], providers };
  }
}
