// Generates a client from an OpenAPI file, into a folder. The generators are ES modules, which tests cannot load.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const [generator, description, folder] = process.argv.slice(2);

const GENERATORS = {
  'openapi-fetch': async () => {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    const types = await openapiTS(new URL(`file://${description}`));
    await writeFile(join(folder, 'schema.ts'), astToString(types));
  },
  'hey-api': async () => {
    const { createClient } = await import('@hey-api/openapi-ts');
    await createClient({
      input: description,
      output: join(folder, 'generated'),
      plugins: ['@hey-api/client-fetch'],
      logs: { level: 'silent' },
    });
  },
};

await GENERATORS[generator]();
