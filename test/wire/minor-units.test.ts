import fc from 'fast-check';
import {
  amountOf,
  decimalOf,
  decimalsOf,
  fromStored,
  minorUnitOf,
  scaleOf,
  storedDecimals,
  textOf,
  toStored,
} from '../../src/wire/record/minor-units';

const currencies = fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF', 'XAF', 'ISK');

describe('an amount of money (decisions A19)', () => {
  it.each([
    ['EUR', 2, 2, 1],
    ['JPY', 0, 2, 100],
    ['KWD', 3, 3, 1],
    ['CLF', 4, 4, 1],
    ['HUF', 2, 2, 1],
  ])('of %s has %i decimals, in memory %i', (currency, decimals, scale, unit) => {
    expect([decimalsOf(currency), scaleOf(currency), minorUnitOf(currency)]).toEqual([decimals, scale, unit]);
  });

  it.each([
    ['EUR', 12.5, 1250, '12.50'],
    ['EUR', 12.345, undefined, ''],
    ['JPY', 100, 10_000, '100'],
    ['JPY', 100.5, undefined, ''],
    ['KWD', 12.345, 12_345, '12.345'],
    ['KWD', 12.3456, undefined, ''],
    ['CLF', 99_999_999_999.9999, 999_999_999_999_999, '99999999999.9999'],
    ['EUR', -0, 0, '0.00'],
    ['EUR', 70_368_744_177_663.99, 7_036_874_417_766_399, '70368744177663.99'],
    // 70368744177664.02 is the same number.
    ['EUR', 70_368_744_177_664.01, undefined, ''],
    ['JPY', 70_368_744_177_664, 7_036_874_417_766_400, '70368744177664'],
    ['JPY', 70_368_744_177_665, undefined, ''],
    ['KWD', 8_796_093_022_207.999, 8_796_093_022_207_999, '8796093022207.999'],
    ['KWD', 8_796_093_022_208.01, undefined, ''],
  ])('in %s of %d is %d', (currency, decimal, amount, text) => {
    expect(amountOf(decimal, currency)).toBe(amount);
    if (amount !== undefined) {
      expect(decimalOf(amount, currency)).toBe(decimal + 0);
      expect(textOf(amount, currency)).toBe(text);
    }
  });

  it('is stored in minor units and read as it was, whatever its currency', () => {
    const amounts = fc.record({ a: fc.nat(1e9), b: fc.option(fc.nat(1e9), { nil: undefined }) });
    fc.assert(
      fc.property(currencies, amounts, (currency, { a, b }) => {
        const unit = minorUnitOf(currency);
        const facts = { a: a * unit, ...(b === undefined ? {} : { b: b * unit }), other: 7 };
        const decimals = storedDecimals([facts.a, facts.b], currency);
        expect(decimals).toEqual(decimalsOf(currency) === 2 ? {} : { decimals: decimalsOf(currency) });
        const stored = toStored(facts, ['a', 'b'], currency, decimals);
        expect(stored).toEqual({ a, ...(b === undefined ? {} : { b }), other: 7 });
        expect(fromStored(stored, ['a', 'b'], currency, decimals)).toEqual(facts);
      }),
    );
  });

  it('of an event that has hundredths of every currency is neither rounded when it is read nor when it is stored again', () => {
    fc.assert(
      fc.property(currencies, fc.nat(1e9), (currency, hundredths) => {
        const { a } = fromStored({ a: hundredths }, ['a'], currency, {});
        expect(decimalOf(a, currency)).toBe(hundredths / 100);
        const decimals = storedDecimals([a], currency);
        expect(fromStored(toStored({ a }, ['a'], currency, decimals), ['a'], currency, decimals)).toEqual({
          a,
        });
      }),
    );
  });
});
