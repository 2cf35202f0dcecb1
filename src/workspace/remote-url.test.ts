import { describe, expect, it } from 'vitest'
import { AppError } from '../errors.ts'
import { parseRemote, remoteFromEnvironment } from './remote-url.ts'

const parse = (text: string) => parseRemote(text, '/srv/here')

describe('addresses that git takes', () => {
  it.each([
    ['https://git.example/team/project.git', 'http', 'https://git.example/team/project.git'],
    ['HTTPS://Git.Example:443/team/project', 'http', 'https://git.example/team/project'],
    ['http://127.0.0.1:8080/p.git', 'http', 'http://127.0.0.1:8080/p.git'],
    ['ssh://git@git.example/team/project.git', 'ssh', 'ssh://git@git.example/team/project.git'],
    ['git@git.example:team/project.git', 'ssh', 'git@git.example:team/project.git'],
    ['git.example:/srv/project.git', 'ssh', 'git.example:/srv/project.git'],
    ['git://git.example:9418/p.git', 'git', 'git://git.example/p.git'],
    ['git://[::1]:9419/p.git', 'git', 'git://[::1]:9419/p.git'],
    ['file:///srv/a%20b.git', 'file', '/srv/a b.git'],
    ['file://localhost/srv/p.git/', 'file', '/srv/p.git'],
    ['/srv/../srv/p.git', 'file', '/srv/p.git'],
    ['../p.git', 'file', '/srv/p.git'],
  ])('%s', (text, transport, url) => {
    expect(parse(text)).toMatchObject({ transport, url })
    expect(parse(text)).not.toHaveProperty('credentials')
  })
})

describe('the id', () => {
  it.each([
    [
      'https://git.example/team/project.git',
      'https://GIT.example:443/team/project/',
      'https://ada:pw@git.example/team/project',
    ],
    ['ssh://git@git.example/p.git', 'ssh://git@git.example:22/p'],
    ['git@git.example:p.git', 'git@git.example:p'],
    ['file:///srv/p.git', '/srv/p.git', '/srv/p.git/'],
  ])('is the same for every spelling of %s', (...spellings) => {
    const ids = new Set(spellings.map((text) => parse(text).id))
    expect(ids.size).toBe(1)
  })

  it('differs where the repository may differ', () => {
    const all = [
      'https://git.example/p',
      'https://git.example:8443/p',
      'https://git.example/P',
      'http://git.example/p',
      'ssh://git.example/p',
      'ssh://ada@git.example/p',
      'ada@git.example:p',
      'bob@git.example:p',
      '/p',
    ]
    expect(new Set(all.map((text) => parse(text).id)).size).toBe(all.length)
  })

  it('is a name that a folder and a schema can have', () => {
    expect(parse('https://git.example/a%2f..%2fb/.git').id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{12}$/)
    expect(parse('/srv/..evil name;$(x).git').id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{12}$/)
  })
})

describe('a login in an https address', () => {
  it('is parsed, and appears neither in the address nor in the id', () => {
    const { url, id, credentials } = parse('https://ada:ge%40heim@git.example:8443/p.git')
    expect(credentials).toEqual({ user: 'ada', password: 'ge@heim', origin: 'https://git.example:8443' })
    expect(url + id).not.toMatch(/ada|heim/)
  })

  it('may be a token alone', () => {
    expect(parse('https://ghp_token@git.example/p').credentials).toMatchObject({ user: 'ghp_token', password: '' })
  })
})

describe('what is refused, without being quoted', () => {
  it.each([
    '',
    ' ',
    '--upload-pack=touch /tmp/x',
    '-x',
    'ext::sh -c "touch /tmp/x"',
    'fd::17',
    'helper::https://git.example/p',
    'ftp://git.example/p',
    'ssh://-oProxyCommand=touch%20x/p',
    'ssh://-l@git.example/p',
    'ssh://ada:geheim@git.example/p',
    '-oProxyCommand=x:p',
    'git@-host:p',
    'git@git.example:-p',
    'git://ada@git.example/p',
    'https://git.example',
    'https://git.example/',
    'https://git.example/p?token=geheim',
    'https://git.example/p#x',
    'https://a b/p',
    'https://git.example/p\nhost=evil',
    'https://ada:ge%0aheim@git.example/p',
    'https://git.example/%zz\0',
    'https:///p',
    'file://other/srv/p',
    'file:///srv/%00p',
    `https://git.example/${'x'.repeat(5000)}`,
  ])('%j', (text) => {
    let said = ''
    try {
      parse(text)
    } catch (error) {
      expect(error).toBeInstanceOf(AppError)
      said = (error as AppError).message
    }
    expect(said).toMatch(/^--repo \(or UNSTUCK_REPO_URL\): /)
    expect(said).not.toMatch(/geheim|touch/)
  })
})

it('an empty variable names no repository', () => {
  expect(remoteFromEnvironment({ UNSTUCK_REPO_URL: '' }, '/')).toBeUndefined()
  expect(remoteFromEnvironment({}, '/')).toBeUndefined()
  expect(remoteFromEnvironment({ UNSTUCK_REPO_URL: '/srv/p.git' }, '/')?.url).toBe('/srv/p.git')
})
