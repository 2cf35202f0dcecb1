/**
 * The help of `unstuck sim`: every step of a script as a line of JSON, with its effect. Only data, so that the command line
 * can show it without loading the server. A test parses each line and checks that no kind of step is missing.
 */

type Line = readonly [step: string, effect: string]

const turns: readonly Line[] = [
  ['{ "write": { "path": "a.txt", "content": "hi" } }', 'writes a file'],
  ['{ "edit": { "path": "a.txt", "find": "hi", "replace": "ho" } }', 'replaces the first occurrence'],
  ['{ "read": "a.txt" }', 'reads a file'],
  ['{ "shell": "npm test" }', 'runs a command'],
  ['{ "tool": { "name": "report_progress", "input": { "text": "Half done." } } }', 'calls a tool of an MCP server'],
  ['{ "hold": { "until": "go", "mark": "held" } }', 'runs a command that lasts until the file "go" exists'],
  ['{ "text": "All done." }', "ends the agent's turn with this text"],
  [
    '{ "answer": { "decision": "allow" } }',
    "ends the agent's turn with this JSON, as the answer to a question of Unstuck",
  ],
  ['{ "wait": 5 }', 'delays the next step by so many seconds'],
]

const faults: readonly Line[] = [
  ['{ "write": { "path": "{cwd}/../a.txt", "content": "hi" } }', 'denial: agents may not write there'],
  ['{ "error": { "status": 429, "retryAfterSeconds": 20 } }', 'rate limit with the time when it ends'],
  ['{ "error": { "status": 429 } }', 'rate limit without a time'],
  ['{ "limit": { "resetInSeconds": 3600 } }', 'usage limit of the account, with the time of its reset'],
  ['{ "limit": true }', 'usage limit of the account, without a time'],
  ['{ "error": { "status": 529 } }', 'overload (503 for Codex, Gemini and OpenCode)'],
  ['{ "error": { "status": 401, "times": "always" } }', 'wrong key'],
  ['{ "error": { "status": 404, "times": "always" } }', 'model that does not exist'],
  ['{ "overflow": true }', 'conversation that no longer fits into the model'],
  ['{ "cut": true }', 'stream that is cut off in the middle'],
  ['{ "silence": true }', 'no response at all'],
  ['{ "silence": { "afterHeaders": true } }', 'response headers, and then nothing'],
  ['{ "linger": true }', 'complete response whose stream never ends'],
  ['{ "empty": true }', 'response without content'],
  ['{ "garbage": true }', 'HTML page instead of a response'],
  ['{ "again": { "shell": "ls", "times": 20 } }', 'doom loop: the same call many times'],
]

export const stepExamples: readonly Line[] = [...turns, ...faults]

const listed = (lines: readonly Line[]): string => {
  const width = Math.max(...lines.map(([step]) => step.length))
  return lines.map(([step, effect]) => `  ${step.padEnd(width)}  ${effect}`).join('\n')
}

export const simHelp = `
A script is a JSON file. The server plays the first conversation whose "match" occurs in the prompt (of a list: all of it), or the default one:

  { "conversations": [{ "name": "job", "match": "Make the file", "steps": [<step>, <step>, …] }] }
  { "conversations": [{ "name": "ask", "match": ["Question: policy", "Make the file"], "steps": [<step>] }] }
  { "conversations": [{ "name": "all", "default": true, "steps": [<step>, …] }] }

Steps; each is one turn of the model. Paths are relative to the working folder of the agent, for which {cwd} stands:

${listed(turns)}

Faults. All but the first and the last spoil the next request, once or as many times as "times" says ("always" only as the last step):

${listed(faults)}
`
