// Lints the OpenAPI document that comes in, by the rules recommended: what is wrong goes out as JSON. The linter is an
// ES module, which tests cannot load.
import { text } from 'node:stream/consumers';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const source = await text(process.stdin);
const config = await createConfig({ extends: ['recommended'] });
const problems = await lintFromString({ source, config });
const told = problems.map(({ ruleId, severity, message, location }) => ({
  ruleId,
  severity,
  message,
  at: location[0]?.pointer,
}));
process.stdout.write(JSON.stringify(told));
