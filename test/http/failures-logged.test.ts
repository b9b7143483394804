import { JSON_UTF8, token } from './asking-notes';
import { notesApp } from './notes-service';

it('an unavailable engine is logged once, without a stack, however many requests need it (decisions X87)', async () => {
  const { app, logged } = await notesApp();
  for (let at = 0; at < 3; at += 1) {
    const url = `/1.0/notes;word=engine?${token}`;
    expect((await app.inject({ method: 'POST', url, headers: JSON_UTF8, payload: '{}' })).statusCode).toBe(
      500,
    );
  }
  await app.close();
  const lines = logged.map((line) => JSON.parse(line) as { msg: string });
  expect(lines.filter(({ msg }) => msg === 'an engine is unavailable')).toEqual([
    expect.objectContaining({ level: 40, reason: 'the disk is full of secrets' }),
  ]);
  expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(3);
  expect(logged.join()).not.toContain('stack');
});
