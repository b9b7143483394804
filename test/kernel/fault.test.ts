import { faultsOf } from '../../src/kernel/fault';

const fault = faultsOf({ wrong: ['F_1', 400, 'Wrong'] });

test('a fault of a table has its code, status and text, and no stack', () => {
  const made = fault.wrong();
  expect(made).toMatchObject({ code: 'F_1', status: 400, message: 'Wrong' });
  expect(made.stack).not.toMatch(/\n\s+at /);
  expect(new Error('other').stack).toMatch(/\n\s+at /);
});
