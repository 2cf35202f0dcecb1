/** Parses the rules of a makefile, in enough detail to detect a changed target. */

export interface MakeRule {
  needs: string[]
  text: string
  recipe: string[]
}

export interface Makefile {
  rules: Map<string, MakeRule>
  first: string | undefined
  /** Lines outside of rules: variables, includes, conditions. */
  others: string[]
}

const ruleLine = /^([^\s#:=][^#:=]*?)[ \t]*::?(?!=)([^#=]*)$/
const maxLines = 5_000
/** The pattern takes quadratic time for white space. */
const maxLine = 2_000

const wordsOf = (text: string): string[] =>
  text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')

export const readMakefile = (text: string): Makefile => {
  const rules = new Map<string, MakeRule>()
  const others: string[] = []
  let open: MakeRule[] = []
  for (const line of text.split(/\r?\n/).slice(0, maxLines)) {
    const head = line.length > maxLine ? null : ruleLine.exec(line)
    if (line.startsWith('\t')) {
      for (const rule of open) {
        rule.recipe.push(line.trim())
        rule.text += `\n${line.trim()}`
      }
    } else if (head !== null) {
      const needs = wordsOf((head[2] ?? '').split(';')[0] ?? '')
      open = wordsOf(head[1] ?? '').map((name) => {
        const rule = rules.get(name) ?? { needs: [], text: '', recipe: [] }
        rule.needs.push(...needs)
        rule.text += `\n${(head[2] ?? '').trim()}`
        rules.set(name, rule)
        return rule
      })
    } else if (line.trim() !== '' && !line.startsWith('#')) others.push(line.trim())
  }
  return { rules, first: [...rules.keys()].find((name) => !name.startsWith('.')), others }
}

/** The targets and everything they depend on, each once. */
export const withPrerequisites = ({ rules }: Makefile, targets: readonly string[]): string[] => {
  const found = new Set<string>()
  const follow = (name: string): void => {
    if (found.has(name) || !rules.has(name)) return
    found.add(name)
    for (const need of rules.get(name)?.needs ?? []) follow(need)
  }
  for (const name of targets) follow(name)
  return [...found]
}

/** A line of a recipe in the form that a shell reads. */
export const recipeLine = (line: string): string => line.replace(/^[@+-]+/, '').replaceAll(/\$[({]MAKE[)}]/g, 'make')
