import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const SPECS = ['**/*.spec.ts', '**/*.e2e-spec.ts'];
const TESTS = [...SPECS, 'test/**/*.ts'];

/** What Node gives to a program without an import, as far as our scripts use it. */
const NODE_GLOBALS = Object.fromEntries(
  [
    'AbortController',
    'AbortSignal',
    'Buffer',
    'Headers',
    'Request',
    'Response',
    'TextDecoder',
    'TextEncoder',
    'URL',
    'URLSearchParams',
    'clearInterval',
    'clearTimeout',
    'console',
    'crypto',
    'fetch',
    'performance',
    'process',
    'queueMicrotask',
    'setImmediate',
    'setInterval',
    'setTimeout',
    'structuredClone',
  ].map((name) => [name, 'readonly']),
);

const ENVIRONMENT_MESSAGE =
  'Only src/config reads the environment: add the value to the schema there and inject AppConfig. (The runner: runner-environment.ts.)';
const CLOCK_MESSAGE =
  'Rules are functions of their arguments. Take the time as a parameter; the caller has a Clock.';
const RANDOM_MESSAGE =
  'Rules are functions of their arguments. Take the id or the random value as a parameter.';
const ONLY_MESSAGE = 'This would skip every other test of the file without a word. Remove `.only`.';

export default defineConfig(
  { ignores: ['dist/', 'coverage/', '.data/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  { rules: { eqeqeq: ['error', 'always', { null: 'ignore' }] } },

  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js'],
    languageOptions: { globals: { ...NODE_GLOBALS } },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { globals: { module: 'writable', require: 'readonly', __dirname: 'readonly' } },
  },

  {
    files: ['src/**/*.ts', 'test/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: './test/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      // A state that is added must be a compile-time question everywhere; `default: never` guards stay allowed.
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Says nothing in a file with decorators: there an import of a class is what Nest injects by, although only types use it.
      '@typescript-eslint/consistent-type-imports': 'error',
      // A Nest module is an empty class with a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // `${port}` is as safe as `${name}`.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => done()` and `return reject()` are the usual ways to drop a result.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // A key of a record is data, not a name: `row['created_at']` says so.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      // Express declares its request as an interface over Node's class, which this rule takes for a forgery.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // An empty header or parameter is an absent one: `value || fallback` on strings is meant.
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      // A method that is asynchronous by its port may have nothing to wait for (in-memory fakes, Nest's life-cycle hooks).
      '@typescript-eslint/require-await': 'off',
      // An interface does not fit Record<string, unknown>, a type does: jsonb columns and rows need both.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // It asks for the `!` that no-non-null-assertion forbids.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // `_name` says that a signature demands a parameter that nothing here reads.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
    },
  },

  {
    files: ['src/**/*.ts'],
    rules: { 'no-console': 'error' },
  },
  {
    // What a person at a terminal must see before the logger exists: the address, the first key, a bad configuration.
    files: ['src/main.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['src/**/*.ts'],
    // The runner is a program of its own: its environment is what its worker hands it, not this service's configuration.
    ignores: ['src/config/**', 'src/execution/runner/runner-environment.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: ENVIRONMENT_MESSAGE },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: ['process', 'node:process'].map((name) => ({
            name,
            importNames: ['env', 'default'],
            message: ENVIRONMENT_MESSAGE,
          })),
        },
      ],
    },
  },
  {
    files: ['src/*/domain/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: CLOCK_MESSAGE },
        {
          selector: 'CallExpression[callee.object.name="Date"][callee.property.name="now"]',
          message: CLOCK_MESSAGE,
        },
        {
          selector: 'CallExpression[callee.object.name="Math"][callee.property.name="random"]',
          message: RANDOM_MESSAGE,
        },
        {
          selector: 'CallExpression[callee.name=/^(randomUUID|newUuid)$/]',
          message: RANDOM_MESSAGE,
        },
      ],
    },
  },

  {
    files: TESTS,
    rules: {
      // A test that assumes too much fails, which is all that a check could do about it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // The bodies of supertest and the rows of raw SQL are `any`; the expectations are their type check.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      // expect(fake.method) never calls it.
      '@typescript-eslint/unbound-method': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.name=/^(describe|it|test)$/][property.name="only"]',
          message: ONLY_MESSAGE,
        },
      ],
    },
  },

  prettier,
);
