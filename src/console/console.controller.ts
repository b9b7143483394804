import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  type DynamicModule,
  Get,
  Module,
  type OnModuleDestroy,
  Param,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { StaticContent } from '../http/describe';
import { type PostedBody } from '../http/posted-body';
import { HttpOptions } from '../http/service';
import { TOKEN } from '../network/organisations';
import { Clock } from '../runtime/clock';
import { httpFaults } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { SCRIPT, STYLE } from './assets';
import { type Asked, type Page, type Section } from './content';
import { Operator, Refused } from './operator';
import { addressOf, PAGES } from './pages';
import { loginText, messageText, pageText, sectionText } from './render';
import { SESSION_MS, Sessions } from './session';

const HTML = 'text/html; charset=utf-8';
const COOKIE = 'affilog_console';
/** What the last change has said, until the next page is shown. */
const SAID = 'affilog_said';
const MOST_SAID = 1_000;

const NO_TOKEN = 'This is no token of an operator for OPS.';

/** Bytes of a form. */
const MOST_FORM = 64 * 1024;

/** Pages that are kept up to date at a time, how often (ms), and after how long without news a line is sent (ms). */
const MOST_LIVE = 32;
const LIVE_MS = 2_000;
const QUIET_MS = 15_000;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const STYLE_TYPE = 'text/css; charset=utf-8';

const FILES: Readonly<Record<string, () => StaticContent>> = {
  'script.js': () => new StaticContent(SCRIPT_TYPE, SCRIPT),
  'style.css': () => new StaticContent(STYLE_TYPE, STYLE),
  'uplot.js': () => new StaticContent(SCRIPT_TYPE, plotFile('uPlot.iife.min.js')),
  'uplot.css': () => new StaticContent(STYLE_TYPE, plotFile('uPlot.min.css')),
};

function plotFile(name: string): Buffer {
  return readFileSync(join(dirname(require.resolve('uplot')), name));
}

/** The routes of the console, which have sessions of their own instead of tokens, in Fastify's notation. */
export const CONSOLE_ROUTES = [
  '/console',
  '/console/:page',
  '/console/:page/live',
  '/console/files/:file',
] as const;

/** A request within a session. */
interface Visit {
  readonly cookie: string;
  readonly operator: Operator;
}

/** Pages for operators (`docs/decisions.md#x124`): made on the server, of the operations under `/ops/1.0`. */
@Controller('/console')
class ConsoleController implements OnModuleDestroy {
  private readonly files = new Map<string, StaticContent>();
  private readonly stop = new AbortController();
  private live = 0;

  constructor(
    private readonly options: HttpOptions,
    private readonly sessions: Sessions,
    private readonly clock: Clock,
    private readonly host: HttpAdapterHost,
  ) {}

  onModuleDestroy(): void {
    this.stop.abort();
  }

  @Get()
  start(@Res() reply: FastifyReply): void {
    void reply.redirect(`${this.base}/overview`, 303);
  }

  @Get('files/:file')
  file(@Param('file') name: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const open = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (open === undefined) throw httpFaults.notFound(`/console has no file ${name}`);
    const content = this.files.get(name) ?? open();
    this.files.set(name, content);
    content.send(request, reply);
  }

  /** A page, or what it shows as JSON. */
  @Get(':page')
  async page(
    @Param('page') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const isJson = request.target.extension === 'json';
    if (name === 'login') {
      this.sendText(reply, 200, loginText(this.base, askedIn(request)['to'] ?? ''));
      return;
    }
    const visit = this.visitOf(request);
    const page = PAGES.find((one) => one.name === name);
    if (visit === undefined) {
      this.sendToLogin(request, reply, isJson);
      return;
    }
    if (page === undefined) {
      this.sendText(reply, 404, this.missing(name));
      return;
    }
    const asked = askedIn(request);
    try {
      const sections = await settled(page, visit.operator, asked);
      if (isJson) {
        const shown = { page: page.name, title: page.title, asked, sections };
        await reply.headers(SECURITY).type(CONTENT_TYPES.json).send(JSON.stringify(shown));
        return;
      }
      const said = saidIn(request);
      if (said !== undefined) this.setCookie(reply, SAID, '', 0);
      const frame = { ...this.frameOf(page, asked, visit), page, menu: PAGES.filter(({ inMenu }) => inMenu) };
      this.sendText(reply, 200, pageText({ ...frame, fields: page.fields?.(asked) ?? [], sections, said }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.sendToLogin(request, reply, isJson);
    }
  }

  /** Sends the live sections of a page whenever they have changed, as server-sent events. */
  @Get(':page/live')
  async follow(
    @Param('page') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const visit = this.visitOf(request);
    const page = PAGES.find((one) => one.name === name);
    if (visit === undefined) throw httpFaults.notFound('the session has ended');
    if (page === undefined) throw httpFaults.notFound(`/console has no page ${name}`);
    if (this.live >= MOST_LIVE) throw httpFaults.overloaded(undefined, { retryAfter: 5 });
    const end = new AbortController();
    this.live += 1;
    reply.raw.once('close', () => {
      this.live -= 1;
      end.abort();
    });
    const signal = AbortSignal.any([end.signal, this.stop.signal]);
    const news = Readable.from(this.news(page, visit, askedIn(request), signal));
    await reply
      .headers({ ...SECURITY, 'X-Accel-Buffering': 'no' })
      .type('text/event-stream')
      .send(news);
  }

  /** Logs in or out, or does what a form of a page asks for. */
  @Post(':page')
  async post(
    @Param('page') name: string,
    @Body() body: PostedBody,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const posted = formIn(await body.bytes(MOST_FORM));
    if (!this.isFromHere(request)) throw httpFaults.badRequest('expected a form of the console');
    if (name === 'login') {
      await this.login(posted, reply);
      return;
    }
    const visit = this.visitOf(request);
    if (visit === undefined) {
      this.sendToLogin(request, reply, false);
      return;
    }
    if (!this.sessions.isFormKey(visit.cookie, posted['form'] ?? ''))
      throw httpFaults.badRequest('expected a form of this session: load the page again');
    if (name === 'logout') {
      this.setCookie(reply, COOKIE, '', 0);
      void reply.redirect(`${this.base}/login`, 303);
      return;
    }
    const page = PAGES.find((one) => one.name === name);
    const action = Object.entries(page?.actions ?? {}).find(([one]) => one === posted['do'])?.[1];
    if (page === undefined || action === undefined) {
      this.sendText(reply, 404, this.missing(name));
      return;
    }
    const said = await action(visit.operator, posted).then(
      (text) => ({ text, tone: 'good' }) as const,
      (error: unknown) => {
        if (error instanceof Refused) return { text: error.message, tone: 'bad' } as const;
        throw error;
      },
    );
    const value = JSON.stringify({ ...said, text: said.text.slice(0, MOST_SAID) });
    this.setCookie(reply, SAID, Buffer.from(value).toString('base64url'), 60_000);
    void reply.redirect(`${this.base}/${addressOf(page, askedIn(request))}`, 303);
  }

  private async login({ key = '', to = '' }: Asked, reply: FastifyReply): Promise<void> {
    const token = key.trim();
    const problem = await this.problemOf(token);
    if (problem !== undefined) {
      this.sendText(reply, 403, loginText(this.base, to, problem));
      return;
    }
    const ends = this.clock.now().getTime() + SESSION_MS;
    this.setCookie(reply, COOKIE, this.sessions.seal({ token, ends }), SESSION_MS);
    const [name, query = ''] = to.split(/\?(.*)/s);
    const page = PAGES.find((one) => one.name === name);
    void reply.redirect(
      `${this.base}/${page === undefined ? 'overview' : addressOf(page, askedOf(query))}`,
      303,
    );
  }

  /** Why nobody can log in with a token. */
  private async problemOf(token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return NO_TOKEN;
    try {
      await this.operatorWith(token).get('/ops/1.0/actions', { limit: 1 });
      return undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error.status === 401 || error.status === 403 ? NO_TOKEN : error.message;
    }
  }

  private operatorWith(token: string): Operator {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    return new Operator(fastify.inject.bind(fastify), token);
  }

  private async *news(page: Page, visit: Visit, asked: Asked, signal: AbortSignal): AsyncGenerator<string> {
    const sent = new Map<string, string>();
    let last = this.clock.monotonic();
    while (!signal.aborted) {
      // A session that has ended, or whose token was revoked, ends here too.
      if (this.sessions.open(visit.cookie, this.clock.now().getTime()) === undefined) return;
      const live = await settled(page, visit.operator, asked, true).catch(() => undefined);
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

  private visitOf(request: FastifyRequest): Visit | undefined {
    const cookie = cookiesOf(request).get(COOKIE);
    const session = cookie === undefined ? undefined : this.sessions.open(cookie, this.clock.now().getTime());
    if (cookie === undefined || session === undefined) return undefined;
    return { cookie, operator: this.operatorWith(session.token) };
  }

  /** Whether a form was sent by a page of this server: browsers say which site has sent it. */
  private isFromHere({ headers }: FastifyRequest): boolean {
    const site = headers['sec-fetch-site'];
    if (site !== undefined) return site === 'same-origin';
    const { origin, host } = headers;
    if (origin === undefined) return true;
    return [`http://${host}`, `https://${host}`, new URL(this.options.baseUrl()).origin].includes(origin);
  }

  private frameOf(page: Page, asked: Asked, { cookie }: Visit) {
    return { base: this.base, here: addressOf(page, asked), formKey: this.sessions.formKey(cookie) };
  }

  /** The path of the console: a proxy may add a prefix. */
  private get base(): string {
    return `${new URL(this.options.baseUrl()).pathname.replace(/\/$/, '')}/console`;
  }

  private missing(name: string): string {
    return messageText(
      this.base,
      'No such page',
      `The console has no page “${name.slice(0, 100)}”, or not with this form.`,
    );
  }

  private sendToLogin(request: FastifyRequest, reply: FastifyReply, isJson: boolean): void {
    this.setCookie(reply, COOKIE, '', 0);
    if (isJson) throw httpFaults.notFound('the session has ended: log in at /console/login');
    const to = request.method === 'GET' ? addressIn(request) : 'overview';
    void reply.redirect(`${this.base}/login?to=${encodeURIComponent(to)}`, 303);
  }

  private sendText(reply: FastifyReply, status: number, text: string): void {
    void reply.code(status).headers(SECURITY).type(HTML).send(text);
  }

  private setCookie(reply: FastifyReply, name: string, value: string, ms: number): void {
    const secure = this.options.baseUrl().startsWith('https:') ? '; Secure' : '';
    const age = `Max-Age=${Math.floor(ms / 1000)}`;
    const cookie = `${name}=${value}; Path=${this.base}; HttpOnly; SameSite=Strict; ${age}${secure}`;
    const others = [reply.getHeader('Set-Cookie') ?? []].flat().map(String);
    reply.header('Set-Cookie', [...others, cookie]);
  }
}

/** Raises `Refused` if the session's token is no longer valid. */
async function settled(
  page: Page,
  operator: Operator,
  asked: Asked,
  liveOnly = false,
): Promise<readonly Section[]> {
  const pending = page.sections(operator, asked).filter(({ isLive }) => !liveOnly || isLive === true);
  return await Promise.all(pending.map(async ({ read, ...one }) => ({ ...one, bodies: await read() })));
}

/** The keys after `?`, the last of each name. */
function askedIn({ originalUrl }: FastifyRequest): Asked {
  const [, query = ''] = originalUrl.split(/\?(.*)/s);
  return askedOf(query);
}

function askedOf(query: string): Asked {
  return Object.fromEntries([...new URLSearchParams(query)].filter(([, value]) => value !== ''));
}

function addressIn(request: FastifyRequest): string {
  const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
  const name = request.target.path.split('/')[2] ?? 'overview';
  return query === '' ? name : `${name}?${query}`;
}

function formIn(bytes: Buffer): Asked {
  return askedOf(bytes.toString('utf8'));
}

function cookiesOf({ headers: { cookie = '' } }: FastifyRequest): ReadonlyMap<string, string> {
  return new Map(
    cookie.split(';').flatMap((pair) => {
      const [name, value] = pair.trim().split(/=(.*)/s);
      return name === undefined || value === undefined || value === '' ? [] : [[name, value] as const];
    }),
  );
}

function saidIn(
  request: FastifyRequest,
): { readonly text: string; readonly tone: 'good' | 'bad' } | undefined {
  const value = cookiesOf(request).get(SAID);
  if (value === undefined) return undefined;
  try {
    const { text, tone } = JSON.parse(Buffer.from(value, 'base64url').toString('utf8')) as Record<
      string,
      unknown
    >;
    return typeof text === 'string' ? { text, tone: tone === 'good' ? 'good' : 'bad' } : undefined;
  } catch {
    return undefined;
  }
}

/** The console. `key` seals its sessions: the same for all processes of an installation. */
@Module({})
export class ConsoleModule {
  static with(key: Uint8Array): DynamicModule {
    return {
      module: ConsoleModule,
      controllers: [ConsoleController],
      providers: [{ provide: Sessions, useValue: new Sessions(key) }],
    };
  }
}
