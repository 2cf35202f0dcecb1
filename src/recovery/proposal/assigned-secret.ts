/** Secrets that a proposed command would write out: a value for a variable or an option whose name says that it is one. Pure. */
import { secretName } from '../../domain/token-shapes.ts'
import { shellParts } from './shell-parts.ts'

/** Values that stand for none, as in `NPM_TOKEN=none npm ci`, and references to a variable. */
const isNoSecret = (value: string): boolean =>
  /^(?:|\$.*|none|null|dummy|fake|test|placeholder|changeme|example|true|false|yes|no|x+|\d{1,3})$/i.test(value) ||
  /^[~./]/.test(value)

/** `env NAME=value`, `docker run -e NAME=value`, `npm config set //host/:_authToken=value`. */
const assignmentIn = (word: string): { name: string; value: string }[] => {
  const [, name = '', value = ''] = /(?:^|[/:])([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? []
  return name === '' ? [] : [{ name, value }]
}

const optionsOf = (words: readonly string[]): { name: string; value: string }[] =>
  words.flatMap((word, index) => {
    const [, name = '', value] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const given = value ?? words[index + 1] ?? ''
    return name === '' || (value === undefined && given.startsWith('-')) ? [] : [{ name, value: given }]
  })

/** The name of the first such variable or option; undefined = none. `--key-file x` names a file, and `--pass-through` nothing. */
export const assignedSecretIn = (command: string): string | undefined => {
  const { commands } = shellParts(command)
  const options = commands
    .flatMap(({ words }) => optionsOf(words))
    .filter(({ name }) => /(?:^|[-_])(?:token|secret|passw(?:or)?d|passphrase|api-?key|credential|auth)s?$/i.test(name))
  const given = commands.flatMap(({ words, assigns }) => [...assigns, ...words.flatMap(assignmentIn)])
  const found = [...given.filter(({ name }) => secretName.test(name)), ...options]
  return found.find(({ value }) => !isNoSecret(value))?.name
}
