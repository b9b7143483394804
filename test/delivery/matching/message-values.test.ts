import { type Receiver } from '../../../src/domain/subscriptions/subscription';
import { matchedClaims, urls } from './matched-claims';
import { AT, replaced } from './recorded-events';

const { happens, messages, subscribed } = matchedClaims();

const rates = (usd: number, day = '2026-03-01') =>
  happens('exchange-rates', {
    type: 'ExchangeRatesPublished',
    data: { at: AT, day, rates: { USD: usd, SEK: 11.2 } },
  });

describe('a custom attribute (decisions N13)', () => {
  const receiver: Receiver = { httpMethod: 'GET', receiverUrl: 'https://a.example/?s=${shop}' };
  const rule = (output: string, ...inputs: readonly string[]) => ({ inputs, output });

  it.each([
    [
      'has the output of the rule whose inputs are the attributes',
      [rule('x', '2', 'a'), rule('y', '1', 'a')],
      'y',
    ],
    ['has the output of the first rule that fits', [rule('x', '1', 'a'), rule('y', '1', 'a')], 'x'],
    ['is empty if no rule fits', [rule('x', '1', 'b'), rule('y', 'a', '1')], ''],
    ['is empty without rules', [], ''],
  ])('%s', (_, rules, expected) => {
    const customAttribute = { tdAttributes: ['claimId', 'epi'], userAttribute: 'shop', rules };
    subscribed(1, { receivers: [receiver], customAttribute });
    const attributes = { claimId: '1', epi: 'a' };
    expect(urls(messages({ attributes }))).toEqual([`https://a.example/?s=${expected}`]);
  });

  it('compares values as text, as they appear in messages: converted, and empty if there is none', () => {
    rates(1.125);
    const rules = [rule('unconverted', '100', ''), rule('converted', '112.5', '')];
    const customAttribute = { tdAttributes: ['amount', 'epi'], userAttribute: 'shop', rules };
    subscribed(1, { receivers: [receiver], customAttribute, currencyConversion: { to: 'USD' } });
    expect(urls(messages())).toEqual(['https://a.example/?s=converted']);
  });

  it.each(['constructor', '__proto__', 'toString'])('may be called %s', (userAttribute) => {
    const named: Receiver = {
      httpMethod: 'POST',
      receiverUrl: 'https://b.example/',
      receiverFormat: 'JSON',
      receiverBody: `{"shop":\${${userAttribute}}}`,
    };
    const customAttribute = { tdAttributes: ['claimId'], userAttribute, rules: [rule('x', '2')] };
    subscribed(1, { receivers: [named], customAttribute });
    const bodies = ['1', '2'].flatMap((claimId) => messages({ attributes: { claimId } }));
    expect(bodies.map(({ request }) => request?.body)).toEqual(['{"shop":null}', '{"shop":"x"}']);
  });
});

describe('currency conversion (decisions N12)', () => {
  const receiver: Receiver = {
    httpMethod: 'GET',
    receiverUrl: 'https://a.example/?a=${amount}&c=${currencyId}&e=${epi}',
  };
  const to = (currency: string) =>
    subscribed(1, { receivers: [receiver], currencyConversion: { to: currency } });

  it('converts the amounts and nothing else, by the rates that are known; the rate is stored with the message', () => {
    rates(1.125);
    to('SEK');
    const attributes = { amount: 100, epi: 7, currencyId: 'USD' };
    expect(messages({ currencyId: 'USD', attributes })).toEqual([
      expect.objectContaining({
        request: { method: 'GET', url: 'https://a.example/?a=995.56&c=SEK&e=7' },
        conversion: { from: 'USD', to: 'SEK', rate: 11.2 / 1.125, day: '2026-03-01' },
      }),
    ]);
  });

  it('uses the newest rates at the time of the change', () => {
    rates(1.125, '2026-02-27');
    to('USD');
    const before = messages();
    rates(1.5);
    expect([...before, ...messages()]).toEqual([
      expect.objectContaining({ conversion: { from: 'EUR', to: 'USD', rate: 1.125, day: '2026-02-27' } }),
      expect.objectContaining({ conversion: { from: 'EUR', to: 'USD', rate: 1.5, day: '2026-03-01' } }),
    ]);
  });

  it('leaves a message as it is while there is no rate, or if it is in that currency', () => {
    to('USD');
    const unconverted = 'https://a.example/?a=100&c=EUR&e=';
    const [before] = messages();
    rates(1.125);
    const attributes = { amount: 100, currencyId: 'NOK' };
    const [unknown] = messages({ currencyId: 'NOK', attributes });
    happens('subscription-s', replaced({ receivers: [receiver], currencyConversion: { to: 'EUR' } }));
    const [same] = messages();
    expect([before, same].map((message) => message?.request?.url)).toEqual([unconverted, unconverted]);
    expect(unknown?.request?.url).toBe('https://a.example/?a=100&c=NOK&e=');
    for (const message of [before, unknown, same]) expect(message).not.toHaveProperty('conversion');
  });

  const get = (receiverUrl: string): Receiver => ({ httpMethod: 'GET', receiverUrl });
  const body = (text: string): Receiver => ({
    httpMethod: 'POST',
    receiverUrl: 'https://a.example/?a=${amount}',
    receiverFormat: 'custom',
    receiverBody: text,
  });
  const ofAmount = { tdAttributes: ['amount'], userAttribute: 'shop', rules: [] };

  it.each<[string, Receiver, boolean]>([
    ['an amount alone', get('https://a.example/?a=${amount}'), true],
    ['an amount with the currency', get('https://a.example/?a=${amount}&c=${currencyId}'), false],
    ['an amount in its URL, the currency in its body', body('${currencyId}'), false],
    ['an amount in its URL, other things in its body', body('${epi}'), true],
    [
      'the currency only in the fragment, which is not sent',
      get('https://a.example/?a=${amount}#${currencyId}'),
      true,
    ],
    ['no amount', get('https://a.example/?e=${epi}'), false],
    ['what a custom attribute makes of an amount', get('https://a.example/?s=${shop}'), true],
  ])('while there is no rate, what shows %s awaits one or not', (_, one, awaits) => {
    subscribed(1, { receivers: [one], currencyConversion: { to: 'USD' }, customAttribute: ofAmount });
    const [message] = messages();
    if (!awaits) {
      expect(message).toHaveProperty('request');
      expect(message).not.toHaveProperty('awaitsRate');
      return;
    }
    expect(message).toMatchObject({ awaitsRate: { from: 'EUR', to: 'USD', upTo: message!.cause } });
    expect(message).not.toHaveProperty('request');
    expect(message).not.toHaveProperty('conversion');
  });
});
