/** Compares Go's vendored packages with go.mod. Pure. */
import type { TreeComparison } from './bounded-read.ts'

interface Module {
  requires: Map<string, string>
  replaced: Set<string>
}

const moduleIn = (text: string): Module => {
  const module: Module = { requires: new Map(), replaced: new Set() }
  let block = ''
  for (const raw of text.split(/\r?\n/)) {
    const words = (raw.split('//')[0] ?? '').split(/\s+/).filter((word) => word !== '')
    if (words.length === 0) continue
    if (words[0] === ')') block = ''
    else if (words[1] === '(') block = words[0] ?? ''
    else {
      const [verb = '', path = '', version = ''] = block === '' ? words : [block, ...words]
      if (verb === 'require') module.requires.set(path, version)
      else if (verb === 'replace') module.replaced.add(path)
    }
  }
  return module
}

/** Requirements of go.mod that the list of vendored packages lacks or has in another version. Replaced modules are skipped. */
export const vendorDifferences = (goMod: string, list: string): TreeComparison => {
  const { requires, replaced } = moduleIn(goMod)
  // The list of a go.work does not describe a single module. A list without these marks comes from an old version of Go.
  if (/^## workspace/m.test(list) || !/^## explicit/m.test(list) || goMod.includes('"'))
    return { differences: [], unclear: true }
  const there = new Map([...list.matchAll(/^# (\S+) (v\S+)$/gm)].map(([, path = '', version = '']) => [path, version]))
  const differences = [...requires]
    .filter(([path, version]) => !replaced.has(path) && there.get(path) !== version)
    .map(([path, version]) => {
      const found = there.get(path)
      return found === undefined ? `${path} is missing` : `${path} is ${found} instead of ${version}`
    })
  return { differences }
}
