import { type Field, type Page, section } from '../content';
import { type Keys } from '../operator';
import { linked } from '../render';
import { line } from './common';

interface Condition {
  readonly condition: string;
  readonly holds: boolean;
  readonly found: string;
  readonly remedy?: string;
}

const ORGANISATION: Field = { name: 'publisher', label: 'As publisher (organisation)' };

export const why: Page = {
  name: 'why',
  title: 'Why?',
  inMenu: true,
  fields: (asked) => [
    {
      name: 'kind',
      label: 'What',
      value: asked['kind'] ?? '',
      choices: [
        ['product', 'is a product seen'],
        ['voucher', 'is a voucher seen'],
        ['delivery', 'was a message sent'],
      ],
    },
    line(asked, 'feedId', 'Feed (of a product)'),
    line(asked, 'id', 'Id of it; of a message also transactionId or claimId', true),
    { ...ORGANISATION, value: asked['publisher'] },
  ],
  sections: (operator, { kind, feedId, id, publisher }) => {
    if (kind === undefined || id === undefined || id === '') return [];
    if (kind === 'delivery')
      return [
        section('why', `Messages about ${id}`, async () => {
          const { lines } = await operator.get<{ readonly lines: readonly string[] }>(
            '/ops/1.0/why/delivery',
            { id },
          );
          return { is: 'text', text: lines.join('\n') };
        }),
      ];
    const keys: Keys = kind === 'product' ? { fid: feedId, spId: id, publisher } : { id, publisher };
    return [
      section('why', `${kind} ${id}`, async () => {
        const { visible, conditions } = await operator.get<{
          readonly visible: boolean;
          readonly conditions: readonly Condition[];
        }>(`/ops/1.0/why/${kind === 'product' ? 'product' : 'voucher'}`, keys);
        return [
          {
            is: 'facts',
            facts: [['Seen', visible ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'bad' }]],
          },
          {
            is: 'table',
            columns: ['Condition', 'Holds', 'What it depends on', 'What helps'],
            none: '',
            rows: conditions.map(({ condition, holds, found, remedy }) => [
              condition,
              holds ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'bad' },
              found,
              remedy ?? '',
            ]),
          },
          { is: 'links', links: [linked('Its history', 'history', { kind, feedId, id })] },
        ];
      }),
    ];
  },
};
