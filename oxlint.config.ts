/**
 * The directions of the imports, the sizes and the forbidden globals of this project. The order of the folders of
 * `src/runtime` stands here once, as data.
 */
import { defineConfig, type OxlintOverride } from 'oxlint'

/** From the lowest to the highest; folders in one row do not import each other. */
const rooms = [['core'], ['checks', 'harness'], ['agent'], ['landing'], ['run'], ['goal', 'people'], ['engine']]

const belowApi = { group: ['**/api/**', '**/cli/**', '**/sim/**'], message: 'runtime stands below api and cli' }

const runtimeImports = [
  belowApi,
  {
    group: ['**/process/**', '**/workspace/**', '**/notify/**', '**/trace/**', '!**/process/environment.ts'],
    allowTypeImports: true,
    message: 'runtime acts through context.ports; ports.ts alone binds them',
  },
  {
    group: ['node:fs', 'node:fs/*', 'node:child_process', 'node:timers', 'node:timers/*'],
    allowImportNames: ['constants'],
    message: 'files and timers come through context.ports.files and context.clock',
  },
]

/** What a room may not import: every room that is not below it, types included. Only `run` has a folder of its own inside. */
const roomOrder = (room: string) => {
  const level = rooms.findIndex((row) => row.includes(room))
  const others = rooms
    .slice(level)
    .flat()
    .filter((other) => other !== room)
  const message = `${room} imports only the rooms below it; their order is at the top of oxlint.config.ts`
  return others.length === 0
    ? []
    : [{ regex: `^(\\.\\./)${room === 'run' ? '{1,2}' : ''}(${others.join('|')})/`, message }]
}

const roomOverrides: OxlintOverride[] = rooms.flat().map((room) => ({
  files: [`src/runtime/${room}/**`],
  rules: {
    'typescript/no-restricted-imports': ['error', { patterns: [...runtimeImports, ...roomOrder(room)] }],
  },
}))

/** Folders below runtime that do not import each other. */
const peers = ['store', 'process', 'harness', 'workspace', 'notify', 'forge', 'trace']

const peerOverrides: OxlintOverride[] = peers.map((peer) => {
  const others = peers.filter((other) => other !== peer)
  const group = [...others, 'runtime', 'api', 'cli', 'sim'].map((folder) => `**/${folder}/**`)
  const message = `${peer} does not import ${others.join(', ')}, nor anything above them`
  return {
    files: [`src/${peer}/**`],
    rules: { 'eslint/no-restricted-imports': ['error', { patterns: [{ group, message }] }] },
  }
})

export default defineConfig({
  plugins: ['typescript', 'import', 'unicorn', 'oxc', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-unnecessary-type-arguments': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-unnecessary-condition': 'off',
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/unbound-method': 'off',
    'unicorn/no-useless-spread': 'off',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
    'unicorn/require-post-message-target-origin': 'off',
    'unicorn/no-thenable': 'off',
    'eslint/no-unmodified-loop-condition': 'off',
    'import/no-unassigned-import': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-reverse': 'off',
    'promise/always-return': 'off',
    'promise/no-multiple-resolved': 'off',
    'eslint/no-await-in-loop': 'off',
    'eslint/no-shadow': 'off',
    'eslint/no-underscore-dangle': 'off',
    'eslint/no-control-regex': 'error',
    'eslint/no-console': 'error',
    'eslint/max-lines': ['error', { max: 350, skipBlankLines: false, skipComments: false }],
    'eslint/max-lines-per-function': ['error', { max: 60, skipBlankLines: false, skipComments: false }],
    'eslint/max-params': ['error', { max: 4 }],
    'eslint/max-depth': ['error', { max: 3 }],
    'eslint/no-restricted-properties': [
      'error',
      { object: 'process', property: 'exit', message: 'one process.exit per program' },
      {
        object: 'process',
        property: 'env',
        message: 'the environment is read in bin, cli/main and the shim, and passed in',
      },
    ],
  },
  overrides: [
    {
      files: ['src/domain/**', 'src/recovery/**'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              { group: ['node:*'], message: 'domain and recovery are pure' },
              {
                group: [
                  '**/store/**',
                  '**/process/**',
                  '**/harness/**',
                  '**/workspace/**',
                  '**/forge/**',
                  '**/runtime/**',
                  '**/api/**',
                  '**/cli/**',
                  '**/sim/**',
                  '**/platform/**',
                  '**/config.ts',
                ],
                message: 'domain and recovery know nothing of effects',
              },
            ],
          },
        ],
        'eslint/no-restricted-globals': [
          'error',
          { name: 'Date', message: 'time is passed in; use the value you were given' },
          { name: 'setTimeout', message: 'no clock here' },
          { name: 'process', message: 'no process here' },
        ],
        'eslint/no-restricted-properties': ['error', { object: 'Math', property: 'random', message: 'no dice here' }],
      },
    },
    {
      files: ['src/recovery/reset-time.ts'],
      rules: {
        'eslint/no-restricted-globals': [
          'error',
          { name: 'setTimeout', message: 'no clock here' },
          { name: 'process', message: 'no process here' },
        ],
        'eslint/no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'it makes moments of numbers; the present one is passed in' },
          { object: 'Math', property: 'random', message: 'no dice here' },
        ],
      },
    },
    {
      files: ['src/domain/**'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              { group: ['node:*'], message: 'the domain is pure' },
              { group: ['../**', '!../errors.ts'], message: 'the domain imports only itself' },
            ],
          },
        ],
      },
    },
    ...peerOverrides,
    {
      files: ['src/runtime/**'],
      rules: {
        'eslint/no-restricted-imports': 'off',
        'typescript/no-restricted-imports': ['error', { patterns: runtimeImports }],
        'eslint/no-restricted-globals': [
          'error',
          { name: 'setTimeout', message: 'timers come from context.clock' },
          { name: 'setInterval', message: 'timers come from context.clock' },
          { name: 'performance', message: 'time is measured by context.clock' },
        ],
        'eslint/no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'the clock is passed in' },
          { object: 'Math', property: 'random', message: 'randomness is passed in' },
          { object: 'process', property: 'env', message: 'the environment is passed in' },
          { object: 'process', property: 'exit', message: 'one process.exit per program' },
        ],
      },
    },
    ...roomOverrides,
    {
      files: ['src/runtime/core/ports.ts', 'src/runtime/core/files.ts', 'src/runtime/core/system-clock.ts'],
      rules: {
        'typescript/no-restricted-imports': ['error', { patterns: [belowApi, ...roomOrder('core')] }],
        'eslint/no-restricted-globals': 'off',
      },
    },
    {
      files: ['src/exec/**'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                group: ['**/store/**', '**/workspace/**', '**/api/**', '**/cli/**', '**/sim/**'],
                message: 'exec has no store and no repository; it stands below cli',
              },
            ],
          },
        ],
      },
    },
    {
      files: ['src/api/**'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          { patterns: [{ group: ['**/cli/**', '**/sim/**'], message: 'api stands below cli' }] },
        ],
      },
    },
    {
      files: ['dashboard/**'],
      plugins: ['typescript', 'import', 'unicorn', 'oxc', 'promise', 'react', 'jsx-a11y'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              { group: ['node:*'], message: 'the dashboard runs in a browser' },
              {
                group: ['**/src/**', '!**/src/api/contract.ts', '**/sim/**', '**/test/**'],
                message: 'the dashboard sees only api/contract',
              },
            ],
          },
        ],
        'react/react-in-jsx-scope': 'off',
      },
    },
    {
      files: ['sim/**'],
      rules: {
        'eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                group: [
                  '**/src/store/**',
                  '**/src/process/**',
                  '**/src/runtime/**',
                  '**/src/api/**',
                  '**/src/cli/**',
                  '**/src/workspace/**',
                  '**/src/recovery/**',
                  '**/src/domain/**',
                ],
                message: 'the model server knows nothing of the engine',
              },
            ],
          },
        ],
      },
    },
    {
      files: [
        'bin/**',
        'src/cli/main.ts',
        'src/process/shim.ts',
        // Git inherits the variables of its user, and what it must not inherit is removed without reading it.
        'src/workspace/run-git.ts',
        'scripts/**',
        'bench/**',
        'test/**',
        '**/*.config.ts',
      ],
      rules: { 'eslint/no-restricted-properties': 'off', 'eslint/no-console': 'off' },
    },
    {
      // Loaded by vite, vitest and oxlint, which take the default export.
      files: ['vitest.config.ts', 'oxlint.config.ts', 'dashboard/vite.config.ts', 'scripts/ci-reporter.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
    {
      files: ['**/*.test.ts', 'test/**'],
      rules: {
        'eslint/no-control-regex': 'off',
        'eslint/max-lines-per-function': 'off',
        'eslint/max-lines': 'off',
        'typescript/no-non-null-assertion': 'off',
        'typescript/no-explicit-any': 'off',
        'import/no-default-export': 'off',
        'eslint/no-restricted-globals': 'off',
        'eslint/no-restricted-imports': 'off',
      },
    },
    {
      // The simulated environment is one object that its engine and its oracle hold; only their types refer to each other.
      files: ['test/simulation/**'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: true }] },
    },
  ],
  ignorePatterns: ['dist', 'node_modules', 'test/fixture'],
})
