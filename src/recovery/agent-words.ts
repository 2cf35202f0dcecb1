/**
 * What an agent's last words say: a question that only a person can answer, or that it could not do its task. They are looked at only
 * after a turn that changed nothing; a wrong yes costs one question to a person, a wrong no is what happens to any turn without a
 * change. Pure.
 */

/** What a person reads of a long answer: its end, where the question stands. */
const longest = 1_500

const questionMark = /[?？]["'”’»)*_`\]]*$/

/** An offer to go on: the task has already said yes. */
const offers = [
  /^(?:(?:so|ok(?:ay)?|great|now|if so|if not)\b[,:]? *)*(?:would you like|do you want|shall I|should I|may I|can I|could I|want me to|ready (?:for me )?to|is (?:it|that|this) ok)/i,
  /\b(?:anything else|can I help|help you with|look good|sound good|okay with you|proceed|go ahead)\b/i,
]

/** A choice between things is no offer: "Should I use SQLite or PostgreSQL?". */
const choice = /\b(?:which|what|where|whether|how many|how much|who|or)\b(?! not\b)/i
const goOn = /\b(?:proceed|go ahead|continue|start|begin)\b/i

const isOffer = (sentence: string): boolean =>
  offers.some((offer) => offer.test(sentence)) && (!choice.test(sentence) || goOn.test(sentence))

const sentencesOf = (text: string): string[] =>
  text
    .split(/(?<=[^\d][.!?？][)"'”’»*_`\]]*)\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')

const paragraphsOf = (text: string): string[] => text.trim().split(/\n\s*\n/)

/** Those of the last three paragraphs: an agent reports its result at the end. */
const lastSentences = (text: string): string[] => sentencesOf(paragraphsOf(text).slice(-3).join('\n\n'))

/** What may follow a question: the options, or a request to choose one. */
const belongsToQuestion = (sentence: string): boolean =>
  /^(?:[-*•]|\(?\w[.)]|please\b|let me know|reply\b|tell me|i(?:'ll| will) (?:wait|continue|go on))/i.test(sentence)

/** The end of the agent's words with its question to a person; undefined = they are none. */
export const questionInWords = (text: string): string | undefined => {
  const paragraphs = paragraphsOf(text)
  const sentences = lastSentences(text)
  const before = sentences.findLastIndex((sentence) => !questionMark.test(sentence) && !belongsToQuestion(sentence))
  const asked = sentences
    .slice(before + 1)
    .find((sentence) => questionMark.test(sentence) && !isOffer(sentence.replace(/^[-*•#>\s]+/, '')))
  if (asked === undefined) return undefined
  const first = paragraphs.findLastIndex((paragraph) => paragraph.includes(asked))
  // The paragraph before it says what the question is about.
  const words = paragraphs.slice(Math.max(0, first - 1)).join('\n\n')
  return words.length > longest ? `…${words.slice(-longest)}` : words
}

/** "I could not write the file", but not "I could not find anything to change". */
const inabilities = [
  /\b(?:I|we)(?: (?:was|were|am|still|also|therefore|really|simply))*(?:'m)? (?:could(?:n['’]t| not)|can(?:['’]t|not| not)|unable to|not able to|failed to|won['’]t be able to|have no (?:access|permission)|do(?:n['’]t| not) have (?:access|permission|the (?:rights|permissions?|tools?)))\b/i,
  /^(?:unable|not able|failed) to\b/i,
  /\b(?:could not|couldn['’]t|cannot|can['’]t) be (?:changed|completed|created|done|edited|finished|made|modified|saved|written)\b/i,
]
const nothingFound = /\b(?:find|see|spot|detect|identify|think of)\b.*\b(?:any|anything|nothing|no|further|else)\b/i

/** The sentence in which an agent says at its end that it could not do its task; undefined = it does not. */
export const inabilityInWords = (text: string): string | undefined =>
  lastSentences(text).find(
    (sentence) => inabilities.some((inability) => inability.test(sentence)) && !nothingFound.test(sentence),
  )

/** "I have implemented it", said of a turn without a change. */
const claim =
  /\b(?:I|we)(?:['’]ve| have)?(?: (?:also|now|just|successfully))* (?:added|changed|created|edited|fixed|implemented|modified|refactored|renamed|replaced|rewrote|updated|wrote)\b(?! (?:nothing|no)\b)/i

/** What was done in another turn. */
const ofBefore = /\b(?:already|before|earlier|previous(?:ly)?)\b/i

/** The sentence in which an agent says at its end that it changed something; undefined = it does not. */
export const claimInWords = (text: string): string | undefined =>
  lastSentences(text).find((sentence) => claim.test(sentence) && !ofBefore.test(sentence))

const longestMessage = 300

/** The words, where they are short enough to be the message of a CLI or its provider instead of an agent's report; else undefined. */
export const messageInWords = (text: string): string | undefined => {
  const words = text.trim()
  return words !== '' && words.length <= longestMessage && paragraphsOf(words).length === 1 ? words : undefined
}
