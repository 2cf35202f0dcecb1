/** One fault for each further label of a failed check: caused by the agent's first attempt, by a service that comes late, or by the machine. */
import { join } from 'node:path'
import { writeFiles } from '../project.ts'
import type { Act, SetEntry, SetFault } from './entry.ts'
import { single } from './work.ts'

interface OwnFault {
  name: string
  seed: number
  fault: SetFault
  /** The check that sees the fault. */
  command: string
  files: Record<string, string>
  /** What the first attempt does beside the right work, and what the second one does about it. */
  breaks: Act[]
  mends: Act[]
}

const broken = (path: string, text: string): Act => ({ change: { path, after: text } })

/** Broken by the agent itself, so the failed check is told to it. */
const ownFault = ({ name, seed, fault, command, files, breaks, mends }: OwnFault): SetEntry => ({
  ...{ name, seed, faults: [fault], forbidden: {}, recoverable: true, expected: 'lands' as const },
  reason: 'Verification: the check fails only with the work, so the agent is told of it.',
  scene: (number) =>
    single(number, [{ when: { launches: [1, 1] }, acts: ['right', ...breaks] }, { acts: ['right', ...mends] }], {
      prepare: ({ project }) => writeFiles(project, files),
      task: { commands: [command, 'npm test'] },
    }),
})

const start = 'export const start = () => true\n'
const settings = '{ "strict": true }\n'
const table = 'export const table = {}\n'
const tool = 'node --version\n'

const ownFaults: SetEntry[] = [
  ownFault({
    ...{ name: 'program that crashes, repaired when told', seed: 901, fault: 'runtime_error' },
    ...{ command: 'node scripts/start.mjs' },
    files: {
      'scripts/start.mjs': "import { start } from '../src/start.mjs'\n\nstart()\n",
      'src/start.mjs': start,
    },
    breaks: [broken('src/start.mjs', 'export const start = () => undefined.ready\n')],
    mends: [broken('src/start.mjs', start)],
  }),
  ownFault({
    ...{ name: 'configuration that cannot be read, repaired when told', seed: 902, fault: 'config_error' },
    ...{ command: 'node scripts/settings.mjs' },
    files: {
      'scripts/settings.mjs': `import { readFileSync } from 'node:fs'

try {
  JSON.parse(readFileSync('src/settings.json', 'utf8'))
} catch (error) {
  throw new Error(\`invalid configuration src/settings.json: \${error.message}\`)
}
`,
      'src/settings.json': settings,
    },
    breaks: [broken('src/settings.json', '{ "strict": tru }\n')],
    mends: [broken('src/settings.json', settings)],
  }),
  ownFault({
    ...{ name: 'removed output of an earlier step, restored when told', seed: 903, fault: 'build_artifact_missing' },
    ...{ command: 'node scripts/table.mjs' },
    files: {
      'scripts/table.mjs': `import { existsSync } from 'node:fs'

if (!existsSync('src/table.mjs')) throw new Error('Could not find the file src/table.mjs: it has not been built')
`,
      'src/table.mjs': table,
    },
    breaks: [{ remove: 'src/table.mjs' }],
    mends: [broken('src/table.mjs', table)],
  }),
  ownFault({
    ...{ name: 'program that does not exist, repaired when told', seed: 904, fault: 'command_not_found' },
    ...{ command: 'sh src/tool.sh', files: { 'src/tool.sh': tool } },
    breaks: [broken('src/tool.sh', 'slug-tool-of-nobody --version\n')],
    mends: [broken('src/tool.sh', tool)],
  }),
  ownFault({
    ...{ name: 'variable that nobody sets, repaired when told', seed: 905, fault: 'missing_env_var' },
    ...{ command: 'node scripts/start.mjs' },
    files: {
      'scripts/start.mjs': "import { start } from '../src/start.mjs'\n\nstart()\n",
      'src/start.mjs': start,
    },
    breaks: [
      broken(
        'src/start.mjs',
        "export const start = () => {\n  if (process.env.SLUG_URL === undefined) throw new Error('environment variable SLUG_URL is not set')\n}\n",
      ),
    ],
    mends: [broken('src/start.mjs', start)],
  }),
]

/** Fails the first times that it runs on this machine, wherever it runs. */
const failsFirst = (
  counter: string,
  times: number,
  failure: string,
): string => `import { appendFileSync, readFileSync } from 'node:fs'

appendFileSync(${JSON.stringify(counter)}, 'x')
if (readFileSync(${JSON.stringify(counter)}, 'utf8').length <= ${times}) {
${failure}
}
`

interface LateService {
  name: string
  seed: number
  fault: SetFault
  failure: string
}

/** Not the fault of the work, and over soon. */
const lateService = ({ name, seed, fault, failure }: LateService): SetEntry => ({
  ...{ name, seed, faults: [fault], forbidden: {}, recoverable: true, expected: 'lands' as const },
  reason: 'The work is not to blame: the check is run again, or the task starts again later.',
  scene: (number) =>
    single(number, [], {
      prepare: ({ project, memory }) =>
        writeFiles(project, { 'scripts/service.mjs': failsFirst(join(memory, 'asked'), 2, failure) }),
      task: { commands: ['node scripts/service.mjs', 'npm test'] },
    }),
})

const lateServices: SetEntry[] = [
  lateService({
    ...{ name: 'service that starts late', seed: 911, fault: 'service_unavailable' },
    failure: `  const { connect } = await import('node:net')
  await new Promise((resolve, reject) => connect(1, '127.0.0.1').once('connect', resolve).once('error', reject))`,
  }),
  lateService({
    ...{ name: 'name that resolves late', seed: 912, fault: 'network_unreachable' },
    failure: `  const { lookup } = await import('node:dns/promises')
  await lookup('registry.slug.invalid')`,
  }),
]

interface MachineFault {
  name: string
  seed: number
  fault: SetFault
  command: string
  script: string
}

/** The same on the base commit, and nothing that an agent or Unstuck may change. */
const machineFault = ({ name, seed, fault, command, script }: MachineFault): SetEntry => ({
  ...{ name, seed, faults: [fault], forbidden: {}, recoverable: false, expected: 'question' as const },
  reason: 'A check that the task names must pass, and only a person can change the machine.',
  scene: (number) =>
    single(number, [], {
      prepare: ({ project }) => writeFiles(project, { 'scripts/machine.mjs': script }),
      task: { commands: [command, 'npm test'] },
    }),
})

const machineFaults: SetEntry[] = [
  machineFault({
    ...{ name: 'memory of the check runs out', seed: 921, fault: 'out_of_memory' },
    command: 'node --max-old-space-size=20 scripts/machine.mjs',
    script: 'const kept = []\nfor (;;) kept.push(Array.from({ length: 1000 }, (_, index) => ({ index })))\n',
  }),
  machineFault({
    ...{ name: 'other version of the runtime needed', seed: 922, fault: 'runtime_version' },
    command: 'node scripts/machine.mjs',
    script: `throw new Error(\`Unsupported engine: wanted: {"node":">=99"} (current: {"node":"\${process.versions.node}"})\`)\n`,
  }),
]

export const labelEntries: readonly SetEntry[] = [...ownFaults, ...lateServices, ...machineFaults]
