/** The section `recovery` of the configuration: which commands that agents propose may run. Absent = off, present = on. */
import { z } from 'zod'
import { checkedText, listOf, numberOfSeconds, oneOf, trueOrFalse, wholeNumber } from './config-values.ts'
import { whyNoCommand } from '../recovery/proposal/command-text.ts'
import { unknownAnswers } from '../recovery/proposal/match.ts'
import { whyNoTextGlob } from '../recovery/proposal/text-glob.ts'

export const proposalSections = {
  recovery: z
    .strictObject({
      enabled: trueOrFalse
        .default(true)
        .meta({ meaning: 'Whether proposals of agents (`recovery.json`) are read. Without the section they are not.' }),
      auto_approve: listOf(checkedText('allowed: a command in one line', whyNoCommand), 'allowed: a list of commands')
        .default([])
        .meta({
          meaning:
            'Commands that run without a question when an agent proposes them after failed checks. Compared byte by byte. A package manager runs the scripts of packages, so an entry such as `npm install` trusts them.',
        }),
      require_human: listOf(
        checkedText('allowed: text with "*" and "?" as wildcards', whyNoTextGlob),
        'allowed: a list of patterns',
      )
        .default(['*'])
        .meta({
          meaning:
            'Patterns of commands that always need a person, unless `auto_approve` lists the exact command. `*` is any text, `?` one character. Compared with the whole command and each simple command in it; covers the arguments that follow and other spellings of its options. Code that the command does not show (`node -e`, a script, text for a shell) asks as well. What recipes and scripts of the repository run (`make`, `npm run`, `node file.js`) no pattern covers.',
        }),
      max_auto_recoveries_per_run: wholeNumber(0, 1000).default(3).meta({
        meaning:
          'Maximum number of such commands for one goal without a person, counted from its start or from `unstuck retry <goal>`.',
      }),
      cooldown_seconds: numberOfSeconds(0).default(60).meta({ meaning: 'Minimum time between two of them.' }),
      on_unknown: oneOf(unknownAnswers).default('escalate').meta({
        meaning:
          'What happens with a command that neither list knows. `escalate`: you are asked. `deny`: it does not run, and the task goes on without it. `allow`: it runs.',
      }),
    })
    .superRefine(({ auto_approve, require_human }, context) => {
      for (const [index, command] of auto_approve.entries())
        if (require_human.includes(command))
          context.addIssue({
            code: 'custom',
            path: ['auto_approve', index],
            message: 'require_human lists the same text; allowed: in one of the two lists',
          })
    }),
}
