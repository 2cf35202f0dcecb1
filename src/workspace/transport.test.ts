import { describe, expect, it } from 'vitest'
import { parseRemote } from './remote-url.ts'
import { cleanText, pushOutcomeOf } from './transport.ts'

const address = parseRemote('https://ada:ge%40heim@git.example/p.git', '/')

describe('text of the other side', () => {
  it('keeps neither the login of the address nor another one, in any spelling', () => {
    const text = 'user ada, password ge@heim or ge%40heim, see https://bob:other@host/x and ssh://root@host/y'
    expect(cleanText(address, text)).toBe(
      'user [redacted], password [redacted] or [redacted], see https://host/x and ssh://host/y',
    )
  })

  it('is one bounded line without control characters and marks of direction', () => {
    expect(cleanText(address, 'a\u001b[31m\r\n\n\u202eb\u0000c\u001b]0;x\u0007')).toBe('a; b c ]0;x')
    expect(cleanText(address, 'x'.repeat(100_000))).toHaveLength(600)
  })
})

describe('the report of a push', () => {
  const report = (line: string, stderr = ''): ReturnType<typeof pushOutcomeOf> =>
    pushOutcomeOf(address, { code: 1, stdout: `To https://git.example/p.git\n!\t${line}\nDone\n`, stderr })

  it.each([
    'a:refs/heads/x\t[rejected] (stale info)',
    'a:refs/heads/x\t[rejected] (fetch first)',
    'a:refs/heads/x\t[rejected] (non-fast-forward)',
    'a:refs/heads/x\t[remote rejected] (failed to update ref)',
    "a:refs/heads/x\t[remote rejected] (cannot lock ref 'refs/heads/x': is at a but expected b)",
    'a:refs/heads/x\t[remote rejected] (incorrect old value provided)',
    'a:refs/heads/x\t[remote rejected] (reference already exists)',
  ])('is a race: %s', (line) => {
    expect(report(line)).toMatchObject({ kind: 'moved' })
  })

  it.each([
    'a:refs/heads/x\t[remote rejected] (pre-receive hook declined)',
    'a:refs/heads/x\t[remote rejected] (hook declined)',
    'a:refs/heads/x\t[remote rejected] (branch is currently checked out)',
    'a:refs/heads/x\t[remote rejected] (protected branch)',
  ])('is a no, with the words that came with it: %s', (line) => {
    const said = report(line, 'remote: Ask ada first.\nerror: failed to push some refs\n')
    expect(said).toMatchObject({
      kind: 'refused',
      detail: expect.stringMatching(/remote rejected.*; Ask \[redacted\] first\./),
    })
  })

  it('tells the cause and not its innocent company', () => {
    const two =
      'b:refs/heads/y\t[remote rejected] (atomic push failure)\n!\ta:refs/heads/x\t[remote rejected] (hook declined)'
    expect(report(two)).toMatchObject({ kind: 'refused' })
  })

  it('that never came has no outcome', () => {
    expect(pushOutcomeOf(address, { code: 1, stdout: '', stderr: 'fatal: the remote end hung up' })).toBeUndefined()
  })
})
