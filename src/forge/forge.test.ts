import { expect, it } from 'vitest'
import { repositoryNameIn } from './forge.ts'

it.each<[string, string | undefined]>([
  ['https://github.com/acme/shop.git', 'acme/shop'],
  ['https://user:secret@git.example.com/acme/shop/', 'acme/shop'],
  ['ssh://git@git.example.com:2222/acme/shop.git', 'acme/shop'],
  ['git@github.com:acme/shop.git', 'acme/shop'],
  ['github.com:acme/my.shop', 'acme/my.shop'],
  ['/srv/acme/shop.git', undefined],
  ['../shop', undefined],
  ['file:///srv/acme/shop.git', undefined],
  ['https://git.example.com/group/sub/shop.git', undefined],
  ['https://git.example.com/../shop', undefined],
])('the repository of the remote %s', (url, name) => {
  expect(repositoryNameIn(url)).toBe(name)
})
