import { expect, test } from 'vitest'
import { claimInWords, inabilityInWords, messageInWords, questionInWords } from './agent-words.ts'

test.each([
  'Which of the two databases should the service use?',
  'I looked at the code. Should I use SQLite or PostgreSQL?',
  'There are two files named app.ts.\n\nWhich one do you mean?\n\n1. src/app.ts\n2. web/app.ts\n\nPlease reply with the number.',
  'I cannot find the design. **Where is it?**',
  'Welche Datenbank soll ich verwenden?',
  'どのデータベースを使いますか？',
  'What should happen when the list is empty? Let me know and I will continue.',
  'Do you want the date in UTC or in local time?',
  'Which port is it? Shall I start?',
  'Before I begin I need to know:\n- what is the port?\n- which user?',
])('a question to a person: %s', (text) => {
  expect(questionInWords(text)).toContain(text.trim().split('\n').at(-1))
})

test.each([
  '',
  'It is like that already.',
  'Here is my plan.\n\nWould you like me to proceed?',
  'Should I go ahead with this, or stop?',
  'Shall I start?',
  'Done. Is there anything else I can help with?',
  'Does that look good?',
  'Do you want me to write the file?',
  'Why did it fail? Because the port was taken. I changed nothing.',
  'The check asks "is it ready?" and the answer is yes.',
  `Which one is it?\n\n${'The first, as the README says. '.repeat(3)}\n\nSo nothing is to do.\n\nAll is well.`,
])('no question to a person: %s', (text) => {
  expect(questionInWords(text)).toBeUndefined()
})

test('a long answer is shown from its end, with what the question is about', () => {
  const shown = questionInWords(`${'x'.repeat(5_000)}\n\nThe port is not set.\n\nWhat is it?`) ?? ''
  expect(shown).toBe('The port is not set.\n\nWhat is it?')
  expect((questionInWords(`${'y '.repeat(5_000)}what is it?`) ?? '').length).toBeLessThan(1_600)
})

test.each([
  'I was unable to edit src/slug.mjs: permission denied by policy. Please grant access.',
  'I could not write the file.',
  "I looked at everything.\n\nUnfortunately I can't change the configuration, because it is read-only.",
  'Unable to complete the task: the sandbox is read-only.',
  'The file could not be written.',
  'I do not have permission to push the branch.',
  'I failed to reproduce the bug.',
  'I am still not able to start the server.',
])('it could not do the task: %s', (text) => {
  expect(text).toContain(inabilityInWords(text))
})

test.each([
  '',
  'It is done already.',
  'I could not find anything to change.',
  "I couldn't see any problem; everything is in place.",
  'I cannot think of anything else that is missing.',
  'Users cannot log in without a password, as the task asks.',
  'The test checks that a user cannot be added twice.',
])('it does not say so: %s', (text) => {
  expect(inabilityInWords(text)).toBeUndefined()
})

test.each([
  'I have implemented the change and all tests pass.',
  "Done.\n\nI've updated `src/slug.mjs` to trim its text.",
  'We also added a test.',
])('it claims a change: %s', (text) => {
  expect(text).toContain(claimInWords(text))
})

test.each([
  'It is implemented already, so I changed nothing.',
  'I have not changed any file.',
  'The last attempt added a test.',
  'I removed scratch.md again.',
  'We fixed this in an earlier session.',
  'I already added that test.',
  'Everything I was asked for is there.',
])('it claims none: %s', (text) => {
  expect(claimInWords(text)).toBeUndefined()
})

test('a message of a CLI is short', () => {
  expect(messageInWords(" You've hit your limit.\n")).toBe("You've hit your limit.")
  for (const text of ['', 'One paragraph.\n\nAnother one.', 'x'.repeat(400)])
    expect(messageInWords(text)).toBeUndefined()
})
