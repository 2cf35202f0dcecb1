/**
 * Syntax colours by Shiki, loaded when a diff is opened. It parses with the regular expressions of the browser, because the page's policy
 * allows no WebAssembly, and returns tokens, never markup. Colours are variables of task.css.
 */
import { codeToTokensBase, createShikiPrimitiveAsync, type ShikiPrimitive } from '@shikijs/primitive'
import { createJavaScriptRegexEngine } from '@shikijs/engine-javascript'
import { languages, type Language } from '../logic/languages.ts'

type ThemedToken = ReturnType<typeof codeToTokensBase>[number][number]

const scopes: [name: string, scope: string[]][] = [
  ['comment', ['comment', 'punctuation.definition.comment', 'string.comment']],
  ['string', ['string', 'punctuation.definition.string', 'constant.other.symbol', 'markup.inline.raw']],
  ['number', ['constant.numeric', 'constant.language', 'constant.character', 'variable.language']],
  ['keyword', ['keyword', 'storage', 'entity.name.tag', 'markup.heading', 'punctuation.definition.heading']],
  ['name', ['entity.name.function', 'support.function', 'entity.other.attribute-name', 'meta.function-call']],
  ['type', ['entity.name.type', 'entity.name.class', 'support.type', 'support.class', 'entity.other.inherited-class']],
]

const theme = {
  name: 'unstuck',
  type: 'light' as const,
  fg: 'var(--code-plain)',
  bg: 'transparent',
  settings: scopes.map(([name, scope]) => ({ scope, settings: { foreground: `var(--code-${name})` } })),
}

export interface Token {
  text: string
  /** A CSS colour; undefined = that of the text around it. */
  colour: string | undefined
}

let started: Promise<ShikiPrimitive> | undefined

const start = (): Promise<ShikiPrimitive> => {
  started ??= createShikiPrimitiveAsync({
    themes: [theme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  return started
}

/** A line beyond these limits stays plain: no pattern may hold the page up. */
const limits = { tokenizeMaxLineLength: 500, tokenizeTimeLimit: 300 }
/** The patterns of a grammar are compiled when they are first used, which may use the time of a line up: then it has another try. */
const mostTries = 4

const tokenize = (shiki: ShikiPrimitive, code: string, lang: Language): ThemedToken[][] => {
  for (let tries = 1; ; tries += 1) {
    const begun = performance.now()
    const lines = codeToTokensBase(shiki, code, { lang, theme: theme.name, ...limits })
    if (tries === mostTries || performance.now() - begun < limits.tokenizeTimeLimit) return lines
  }
}

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** The tokens of each line. */
export const tokensOf = async (code: string, language: Language): Promise<Token[][]> => {
  const shiki = await start()
  const loaded = await languages[language]()
  await shiki.loadLanguage(loaded.default)
  // A person can scroll and press between the passages of a large change.
  await nextTask()
  return tokenize(shiki, code, language).map((line) =>
    line.map(({ content, color }) => ({ text: content, colour: color === theme.fg ? undefined : color })),
  )
}
