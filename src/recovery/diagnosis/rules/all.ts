/** Every rule there is. A family is added here and nowhere else. */
import { agentRules } from './agent.ts'
import { compiledRules } from './compiled.ts'
import { generalRules } from './general.ts'
import { gitRules } from './git.ts'
import { jvmRules } from './jvm.ts'
import { moreRules } from './more.ts'
import { nativeRules } from './native.ts'
import { nodeRules } from './node.ts'
import { osRules } from './os.ts'
import { packageRules } from './packages.ts'
import { pythonRules } from './python.ts'
import type { Rule } from './rule.ts'
import { serviceRules } from './services.ts'
import { shellRules } from './shell.ts'
import { unixRules } from './unix.ts'
import { webRules } from './web.ts'
import { webTestRules } from './webtest.ts'

/** In falling order of what they are sure of, so that the first hits spare the rest. */
export const rules: readonly Rule[] = [
  ...osRules,
  ...shellRules,
  ...unixRules,
  ...nodeRules,
  ...packageRules,
  ...webRules,
  ...webTestRules,
  ...pythonRules,
  ...compiledRules,
  ...jvmRules,
  ...nativeRules,
  ...gitRules,
  ...serviceRules,
  ...agentRules,
  ...moreRules,
  ...generalRules,
].sort((a, b) => b.specificity - a.specificity)
