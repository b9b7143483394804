import { type DirectoryEvent } from '../../src/directory/events';
import { ProgramTerms } from '../../src/directory/program-terms';
import { positionOf, START } from '../../src/kernel/event';
import { AT, small } from './small-directory';

const defined = (currency: string, name = 'Fjord'): DirectoryEvent => {
  return { type: 'ProgramDefined', data: { ...small().program(31)!, currency, name, at: AT } };
};

it('the terms of a program are those of a position, also after its removal', () => {
  const terms = new ProgramTerms();
  expect([terms.at(31, positionOf(9)), terms.currencySince(31)]).toEqual([undefined, START]);
  terms.note(positionOf(10), defined('BGN'));
  terms.note(positionOf(20), defined('EUR'));
  terms.note(positionOf(30), defined('EUR', 'Renamed'));
  terms.note(positionOf(40), { type: 'ProgramRemoved', data: { id: 31, at: AT } });
  const at = [9, 10, 19, 20, 35, 50].map((position) => terms.at(31, positionOf(position))?.currency);
  expect(at).toEqual(['BGN', 'BGN', 'BGN', 'EUR', 'EUR', 'EUR']);
  expect(terms.currencySince(31)).toBe(positionOf(20));
  terms.note(positionOf(60), {
    ...defined('EUR'),
    data: { ...defined('EUR').data, events: [] },
  } as DirectoryEvent);
  expect(terms.at(31, positionOf(60))?.events).toEqual([]);
  expect(terms.currencySince(31)).toBe(positionOf(20));
});
