/**
 * Every step of a script as one line of JSON, with what it does: the help of `unstuck sim`. Data alone, because the command
 * line shows it without loading the server. A test parses each line and misses none.
 */

type Line = readonly [step: string, does: string]

const turns: readonly Line[] = [
  ['{ "write": { "path": "a.txt", "content": "hi" } }', 'writes a file'],
  ['{ "edit": { "path": "a.txt", "find": "hi", "replace": "ho" } }', 'replaces the first occurrence'],
  ['{ "read": "a.txt" }', 'reads a file'],
  ['{ "shell": "npm test" }', 'runs a command'],
  ['{ "hold": { "until": "go", "mark": "held" } }', 'a command that lasts until the file "go" exists'],
  ['{ "text": "All done." }', "ends the agent's turn with these words"],
  ['{ "wait": 5 }', 'lets what follows come so many seconds later'],
]

const faults: readonly Line[] = [
  ['{ "write": { "path": "{cwd}/../a.txt", "content": "hi" } }', 'denial: no agent may write there'],
  ['{ "error": { "status": 429, "retryAfterSeconds": 20 } }', 'rate limit that says when it ends'],
  ['{ "error": { "status": 429 } }', 'rate limit that does not'],
  ['{ "limit": { "resetInSeconds": 3600 } }', 'usage limit of the account that says when it resets'],
  ['{ "limit": true }', 'usage limit that does not'],
  ['{ "error": { "status": 529 } }', 'overload (503 for Codex, Gemini and OpenCode)'],
  ['{ "error": { "status": 401, "times": "always" } }', 'wrong key'],
  ['{ "error": { "status": 404, "times": "always" } }', 'model that is not there'],
  ['{ "overflow": true }', 'conversation that no longer fits into the model'],
  ['{ "cut": true }', 'stream that breaks off in the middle'],
  ['{ "silence": true }', 'no answer at all'],
  ['{ "silence": { "afterHeaders": true } }', 'an answer that begins and never goes on'],
  ['{ "linger": true }', 'an answer that arrives whole and never ends'],
  ['{ "empty": true }', 'an answer without content'],
  ['{ "garbage": true }', 'a page in HTML instead of an answer'],
  ['{ "again": { "shell": "ls", "times": 20 } }', 'doom loop: the same call again and again'],
]

export const stepExamples: readonly Line[] = [...turns, ...faults]

const listed = (lines: readonly Line[]): string => {
  const width = Math.max(...lines.map(([step]) => step.length))
  return lines.map(([step, does]) => `  ${step.padEnd(width)}  ${does}`).join('\n')
}

export const simHelp = `
A script is a JSON file; the first conversation whose "match" occurs in the prompt is played, else the default one:

  { "conversations": [{ "name": "job", "match": "Make the file", "steps": [<step>, <step>, …] }] }
  { "conversations": [{ "name": "all", "default": true, "steps": [<step>, …] }] }

Steps, one turn of the model each (paths below the agent's working folder; {cwd} stands for it):

${listed(turns)}

Faults, one line each; all but the first and the last spoil the request that is due, once or "times" often ("always": as the last step):

${listed(faults)}
`
