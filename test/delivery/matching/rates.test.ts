import fc from 'fast-check';
import {
  conversionOf,
  type PublishedRates,
  ratesDecider,
  type RatesEvent,
  ratesIn,
} from '../../../src/delivery/matching/rates';
import { golden } from '../../support/golden';
import { cases } from '../../support/size';

const DAILY_XML = `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
	<Cube>
		<Cube time='2026-01-05'>
			<Cube currency='USD' rate='1.0823'/>
			<Cube currency='JPY' rate='157.21'/>
		</Cube></Cube></gesmes:Envelope>`;

const DAILY_CSV = 'Date, USD, JPY, \n05 January 2026, 1.0823, 157.21, \n';

const HISTORICAL_CSV = `Date,USD,JPY,CYP,NOK,
2026-01-02,1.09,158,N/A,11.7,
2026-01-05,1.0823,157.21,N/A,N/A,
1999-01-04,1.1789,133.73,0.58231,8.855,
`;

const RATES: PublishedRates = { day: '2026-01-05', rates: { JPY: 157.21, USD: 1.0823 } };

const read = (text: string) => ratesIn(Buffer.from(text));

describe('exchange rates of the European Central Bank (decisions N12)', () => {
  it.each([
    ['its daily XML', DAILY_XML],
    ['its daily CSV', DAILY_CSV],
    ['its CSV of all days, of which the newest counts', HISTORICAL_CSV],
    ['CSV with CRLF and a byte order mark', `\ufeff${DAILY_CSV.replaceAll('\n', '\r\n')}`],
    [
      'XML of several days, of which the newest counts',
      DAILY_XML.replace(
        '<Cube>',
        '<Cube><Cube time="2026-01-02"><Cube currency="USD" rate="2"/></Cube>',
      ).replace(
        '</Cube></Cube>',
        '</Cube><Cube time="1999-01-04"><Cube currency="USD" rate="3"/></Cube></Cube>',
      ),
    ],
  ])('are read from %s', (_, text) => {
    expect(read(text)).toEqual(RATES);
  });

  it.each([
    ['nothing', '', 'no day'],
    ['a page of HTML', '<!DOCTYPE html><html></html>', 'DOCTYPE'],
    ['XML that ends early', DAILY_XML.slice(0, -20), 'unclosed tag'],
    ['XML without rates', '<Cube time="2026-01-05"/>', 'no rates'],
    ['another CSV', 'a,b\n1,2\n', 'begins with Date'],
    ['a line that ends early', 'Date, USD, JPY, \n05 January 2026, 1.08', 'number of cells'],
    ['a day that does not exist', DAILY_CSV.replace('05 January', '31 February'), 'is no day'],
    ['a rate that is no number', DAILY_CSV.replace('1.0823', '1,0823'), 'number of cells'],
    ['a rate of zero', DAILY_XML.replace('1.0823', '0.00'), '"0.00" is no rate of USD'],
    ['a negative rate', DAILY_XML.replace('1.0823', '-1'), '"-1" is no rate of USD'],
    ['two rates', DAILY_XML.replace('JPY', 'USD'), 'USD has two rates'],
    ['bytes that are no text', 'Date, \xff\n', ''],
  ])('are not read from %s', (_, text, why) => {
    expect(() => ratesIn(Buffer.from(text, 'latin1'))).toThrow(
      expect.objectContaining({
        name: 'UnusableRates',
        message: expect.stringContaining(why) as string,
      }) as Error,
    );
  });

  it('are published when they have changed, unless they are older', () => {
    const at = '2026-01-05T15:00:00.000Z';
    const decide = (rates: PublishedRates, known?: PublishedRates) =>
      ratesDecider.decide({ at, ...rates }, known);
    expect(decide(RATES)).toEqual([{ type: 'ExchangeRatesPublished', data: { at, ...RATES } }]);
    expect(decide(RATES, { rates: { USD: 1.0823, JPY: 157.21 }, day: RATES.day })).toEqual([]);
    expect(decide({ ...RATES, rates: { USD: 1.1 } }, RATES)).toHaveLength(1);
    expect(decide({ ...RATES, day: '2026-01-06' }, RATES)).toHaveLength(1);
    expect(decide({ rates: { USD: 1 }, day: '2026-01-04' }, RATES)).toEqual([]);
  });

  it('are folded as they have been stored for ever (test/golden)', () => {
    const { stream, event } = golden<RatesEvent>('ExchangeRatesPublished');
    expect(stream).toBe('exchange-rates');
    expect(conversionOf(ratesDecider.evolve(undefined, event), 'EUR', 'USD')).toMatchObject({
      from: 'EUR',
      to: 'USD',
      rate: 1.0823,
      day: '2026-01-05',
    });
  });
});

describe('a conversion (decisions N12)', () => {
  it.each([
    ['EUR', 'USD', 100, 108.23],
    ['USD', 'EUR', 108.23, 100],
    ['USD', 'JPY', 1.0823, 157],
    ['JPY', 'USD', 157, 1.08],
    ['EUR', 'USD', 0.05, 0.05],
    ['EUR', 'USD', 0.5, 0.54],
    ['EUR', 'USD', 100_000_000_000, 108_230_000_000],
  ])('%s to %s: %d is %d', (from, to, amount, converted) => {
    expect(conversionOf(RATES, from, to)?.convert(amount)).toBe(converted);
  });

  it('rounds half away from zero, where numbers would be a little less', () => {
    const rates = { day: RATES.day, rates: { USD: 1.15, GBP: 0.5 } };
    expect(conversionOf(rates, 'EUR', 'USD')?.convert(0.3)).toBe(0.35);
    expect(conversionOf(rates, 'EUR', 'GBP')?.convert(0.01)).toBe(0.01);
    expect(conversionOf(rates, 'EUR', 'USD')?.convert(-0.3)).toBe(-0.35);
    expect(conversionOf(rates, 'EUR', 'USD')?.convert(1e-7)).toBe(0);
  });

  it.each([
    ['of a currency without a rate', RATES, 'NOK', 'EUR'],
    ['to one', RATES, 'EUR', 'NOK'],
    ['to a name of an object', RATES, 'EUR', 'constructor'],
    ['to the same currency', RATES, 'USD', 'USD'],
    ['while no rates are known', undefined, 'EUR', 'USD'],
    ['from euro to euro while none are known', undefined, 'EUR', 'EUR'],
  ])('is not made %s', (_, rates, from, to) => {
    expect(conversionOf(rates, from, to)).toBeUndefined();
  });

  it('is exact for all amounts and rates, via the euro', () => {
    const rate = fc.tuple(fc.integer({ min: 1, max: 99_999_999 }), fc.constantFrom(1, 100, 10_000));
    const amount = fc.integer({ min: -10_000_000_000_000, max: 10_000_000_000_000 });
    fc.assert(
      fc.property(rate, rate, amount, ([up, upBy], [down, downBy], hundredths) => {
        const rates = { day: RATES.day, rates: { GBP: up / upBy, USD: down / downBy } };
        const [dividend, divisor] = [
          BigInt(hundredths) * BigInt(up) * BigInt(downBy),
          BigInt(down) * BigInt(upBy),
        ];
        const converted = conversionOf(rates, 'USD', 'GBP')?.convert(hundredths / 100) ?? NaN;
        // Beyond this, a number does not have all hundredths.
        fc.pre(Math.abs(converted) < 2 ** 43);
        const error = 2n * (BigInt(Math.round(converted * 100)) * divisor - dividend);
        const size = error < 0n ? -error : error;
        expect(size <= divisor).toBe(true);
        if (size === divisor) expect(error > 0n).toBe(hundredths > 0);
      }),
      { numRuns: cases(2000) },
    );
  });
});
