import tseslint from 'typescript-eslint';

/** Folders whose code takes time, timers and chance from the clock that it is given (`src/runtime/clock.ts`). */
const CLOCKED = [
  'projections',
  ...['kernel', 'runtime', 'network', 'domain', 'projector', 'delivery', 'processes', 'services'].map(
    (name) => `src/${name}`,
  ),
];
const OF_CLOCK = 'Take it from the clock that is given (src/runtime/clock.ts): a simulation decides it.';

export default tseslint.config(
  {
    ignores: [
      'dist',
      '.dist-*/',
      'data/',
      'coverage/',
      'node_modules/',
      'test/clients/usage/',
      'clients/**/openapi.ts',
    ],
  },
  ...tseslint.configs.strictTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers and booleans in messages read as what they are.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Nest modules are classes that hold nothing but their decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // An engine's answer may be there already: its interface is asynchronous all the same.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      // Nest declares options as classes, and takes plain objects.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    // Nobody may be left to handle a rejection: it would end the process. A promise that is not awaited ends with `catch`.
    files: ['src/**/*.ts', 'projections/**/*.ts', 'bench/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: false, ignoreIIFE: false }],
    },
  },
  {
    files: ['src/engines/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'],
    ignores: ['src/engines/embedded/connection.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          property: 'iterate',
          message: "Use iterate() of src/engines/embedded/connection.ts: the driver's crashes the process.",
        },
      ],
    },
  },
  {
    files: CLOCKED.map((folder) => `${folder}/**/*.ts`),
    ignores: ['src/runtime/clock.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['performance', 'setImmediate', 'setInterval', 'setTimeout'].map((name) => ({
          name,
          message: OF_CLOCK,
        })),
      ],
      'no-restricted-properties': [
        'error',
        ...[
          ['AbortSignal', 'timeout'],
          ['Date', 'now'],
          ['Math', 'random'],
          ['crypto', 'randomUUID'],
          ['process', 'hrtime'],
        ].map(([object, property]) => ({ object, property, message: OF_CLOCK })),
      ],
      'no-restricted-syntax': [
        'error',
        ...['NewExpression', 'CallExpression'].map((type) => ({
          selector: `${type}[callee.name='Date'][arguments.length=0]`,
          message: OF_CLOCK,
        })),
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...['node:timers', 'node:timers/promises', 'node:perf_hooks'].map((name) => ({
              name,
              message: OF_CLOCK,
            })),
            {
              name: 'node:crypto',
              importNames: ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID'],
              message: OF_CLOCK,
            },
          ],
          patterns: [
            {
              group: ['**/runtime/clock', './clock'],
              importNames: ['SYSTEM_CLOCK', 'SystemClock'],
              message: 'Take the clock as a parameter: the outermost code passes it down.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
