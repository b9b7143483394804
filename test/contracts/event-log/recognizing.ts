import fc from 'fast-check';
import { type NewEvent, NO_STREAM } from '../../../src/kernel/event';
import { type RevisionConflict } from '../../../src/kernel/event-log';
import { fill, idsOf, newCategory, newEvent, newEvents, streamOf, type Subject } from './events';

export function recognizing({ log, reopen }: Subject): void {
  let stream: string;
  beforeEach(() => {
    stream = `${newCategory()}-1`;
  });

  test('with the same ids at the same revision', async () => {
    await log().append(stream, NO_STREAM, newEvents(2));
    const events = newEvents(3);
    const appended = await log().append(stream, 1, events);

    expect(await log().append(stream, 1, events)).toEqual(appended);
    expect(await streamOf(log(), stream)).toHaveLength(5);
  });

  test('with other metadata, which is not stored (decisions X133)', async () => {
    const events = newEvents(2);
    const appended = await log().append(stream, NO_STREAM, events);
    const others = events.map((event) => ({ ...event, meta: '{"traceparent":"x"}' }));

    expect(await log().append(stream, NO_STREAM, others)).toEqual(appended);
    expect((await streamOf(log(), stream)).map(({ meta }) => meta)).toEqual(['{}', '{}']);
  });

  test('long afterwards, after many other events and a restart', async () => {
    const events = newEvents(3);
    const appended = await log().append(stream, NO_STREAM, events);
    await log().append(stream, 2, newEvents(500));
    await fill(log(), `${stream}0`, 5_000);
    await reopen();

    expect(await log().append(stream, NO_STREAM, events)).toEqual(appended);
    expect(await streamOf(log(), stream)).toHaveLength(503);
  });

  test('if both are concurrent', async () => {
    const events = newEvents(2);
    const [one, other] = await Promise.all([
      log().append(stream, NO_STREAM, events),
      log().append(stream, NO_STREAM, events),
    ]);

    expect(one).toEqual(other);
    expect(await streamOf(log(), stream)).toHaveLength(2);
  });

  test.each<[string, (there: readonly NewEvent[]) => readonly NewEvent[]]>([
    ['another last id', ([first, second]) => [first!, second!, newEvent()]],
    ['another first id', ([, second, third]) => [newEvent(), second!, third!]],
    ['the ids in another order', ([first, second, third]) => [second!, first!, third!]],
    ['one more event at the end', (there) => [...there, newEvent()]],
    ['the ids of a later revision', ([, second, third]) => [second!, third!]],
  ])('and raises a conflict if it has %s', async (_, changed) => {
    const there = await fill(log(), stream, 3);

    await expect(log().append(stream, NO_STREAM, changed(there))).rejects.toMatchObject({
      name: 'RevisionConflict',
    });
    expect(idsOf(await streamOf(log(), stream))).toEqual(idsOf(there));
  });

  test('by its ids, however the appends were divided', async () => {
    const [one, two, three] = newEvents(3);
    await log().append(stream, NO_STREAM, [one!]);
    const appended = await log().append(stream, 0, [two!, three!]);

    expect(await log().append(stream, NO_STREAM, [one!, two!, three!])).toEqual(appended);
    expect(await log().append(stream, 0, [two!])).toMatchObject({ revision: 1 });
  });

  test('by its revision: the same id in another stream, or later in its own, is another event', async () => {
    const [event] = newEvents(1);
    await log().append(stream, NO_STREAM, [event!]);
    const other = await log().append(`${stream}0`, NO_STREAM, [event!]);
    const further = await log().append(stream, 0, [event!]);

    expect(other.revision).toBe(0);
    expect(further.revision).toBe(1);
    expect(idsOf(await streamOf(log(), stream))).toEqual([event!.id, event!.id]);
  });

  test('without events: it checks the revision and returns the head', async () => {
    expect(await log().append(stream, NO_STREAM, [])).toEqual({
      revision: NO_STREAM,
      position: await log().head(),
    });
    await fill(log(), stream, 2);

    expect(await log().append(stream, 1, [])).toEqual({ revision: 1, position: await log().head() });
    const conflictAt = (expected: number): object => ({ name: 'RevisionConflict', expected, actual: 1 });
    await expect(log().append(stream, 0, [])).rejects.toMatchObject(conflictAt(0));
    await expect(log().append(stream, 2, [])).rejects.toMatchObject(conflictAt(2));
  });

  test('according to the rule, whatever was appended before', async () => {
    const pool = newEvents(4);
    const attempt = fc.record({
      expected: fc.integer({ min: NO_STREAM, max: 5 }),
      events: fc.array(fc.constantFrom(...pool), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 12 }), async (attempts) => {
        const name = `${newCategory()}-1`;
        const model: string[] = [];
        for (const { expected, events } of attempts) {
          const answer = await log()
            .append(name, expected, events)
            .then(({ revision }) => revision)
            .catch((error: unknown) => (error as RevisionConflict).name);
          expect(answer).toBe(ruleOf(model, expected, idsOf(events)));
        }
        expect(idsOf(await streamOf(log(), name))).toEqual(model);
      }),
      { numRuns: 50 },
    );
  });
}

/** The rule of `EventLog.append` over a list of ids: what it answers and does. */
function ruleOf(there: string[], expected: number, ids: readonly string[]): number | 'RevisionConflict' {
  const actual = there.length - 1;
  if (expected === actual) {
    there.push(...ids);
    return expected + ids.length;
  }
  const made = there.slice(expected + 1, expected + 1 + ids.length);
  return ids.length > 0 && made.join() === ids.join() ? expected + ids.length : 'RevisionConflict';
}
