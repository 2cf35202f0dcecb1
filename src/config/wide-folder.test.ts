import { describe, expect, it } from 'vitest'
import { whyNotAllowed, whyTooWide } from './wide-folder.ts'

const links: Record<string, string> = { '/links/all': '/', '/links/mine': '/home/me', '/links/data': '/data' }
const looks = { realpathSync: (path: string) => links[path] ?? path, homeDir: () => '/home/me' }

describe('a folder too wide to be given or changed', () => {
  it.each([
    ['/', 'is the whole file system'],
    ['/links/all', 'leads to /, which is the whole file system'],
    ['/home/me', 'is the home folder'],
    ['/links/mine', 'leads to /home/me, which is the home folder'],
    ['/home', 'is a folder that contains the home folder'],
  ])('%s %s', (path, words) => {
    expect(whyTooWide(looks, path)).toBe(words)
    expect(whyNotAllowed(looks, path)).toBe(
      `${path} ${words}: too wide to be given to an agent; name a folder inside it`,
    )
  })

  it.each(['/home/me/data', '/home/me2', '/links/data', '/data'])('%s is not', (path) => {
    expect(whyNotAllowed(looks, path)).toBeUndefined()
  })

  it('a home folder that is a link counts by what it leads to', () => {
    expect(whyTooWide({ ...looks, homeDir: () => '/links/mine' }, '/home/me')).toBe('is the home folder')
  })

  it('a path that cannot be looked at is taken as it stands', () => {
    const realpathSync = (): string => {
      throw new Error('ENOENT')
    }
    expect(whyTooWide({ ...looks, realpathSync }, '/home/me')).toBe('is the home folder')
  })
})
