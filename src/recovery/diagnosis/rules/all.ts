/** All rules. A new family is added only here. */
import { agentOutputRules } from './agent-output.ts'
import { compiledRules } from './compiled.ts'
import { generalRules } from './general.ts'
import { gitRules } from './git.ts'
import { goRules } from './go.ts'
import { jvmRules } from './jvm.ts'
import { moreRules } from './more.ts'
import { nativeRules } from './native.ts'
import { nodeRules } from './node.ts'
import { npmRules } from './npm-pnpm.ts'
import { osRules } from './os.ts'
import { pythonToolRules } from './python-tools.ts'
import { pythonRules } from './python.ts'
import type { Rule } from './rule.ts'
import { rustRules } from './rust.ts'
import { serviceRules } from './services.ts'
import { shellRules } from './shell.ts'
import { unixRules } from './unix.ts'
import { webRules } from './web.ts'
import { webTestRules } from './webtest.ts'
import { yarnRules } from './yarn-bun.ts'

/** By falling specificity, so that after a match most other rules can be skipped. */
export const rules: readonly Rule[] = [
  ...osRules,
  ...shellRules,
  ...unixRules,
  ...nodeRules,
  ...npmRules,
  ...yarnRules,
  ...webRules,
  ...webTestRules,
  ...pythonRules,
  ...pythonToolRules,
  ...rustRules,
  ...goRules,
  ...compiledRules,
  ...jvmRules,
  ...nativeRules,
  ...gitRules,
  ...serviceRules,
  ...agentOutputRules,
  ...moreRules,
  ...generalRules,
].sort((a, b) => b.specificity - a.specificity)
