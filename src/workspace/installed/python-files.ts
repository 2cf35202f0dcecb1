/** Parses files of Python's package managers: requirements, lockfiles, installed distributions, versions (PEP 440). Pure. */

/** The normalised name of PEP 503, equal for all spellings. */
export const normalName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-')

const versionForm =
  /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9._-]+))?$/
const preNames: Record<string, string> = { alpha: 'a', beta: 'b', c: 'rc', pre: 'rc', preview: 'rc' }
const maxVersion = 100

interface Version {
  public: string
  local: string | undefined
}

const versionOf = (text: string): Version | undefined => {
  const parts = text.length > maxVersion ? null : versionForm.exec(text.trim().toLowerCase())
  if (parts === null) return undefined
  const [, epoch = '0', release = '', pre, preNumber, implicitPost, post, postNumber, dev, devNumber, local] = parts
  const numbers = release.split('.').map(Number)
  while (numbers.length > 1 && numbers.at(-1) === 0) numbers.pop()
  const ends = [
    pre === undefined ? '' : `${preNames[pre] ?? pre}${Number(preNumber)}`,
    implicitPost === undefined && post === undefined ? '' : `post${Number(implicitPost ?? postNumber)}`,
    dev === undefined ? '' : `dev${Number(devNumber)}`,
  ]
  return {
    public: [Number(epoch), numbers.join('.'), ...ends].join('|'),
    local: local?.replace(/[-_.]/g, '.'),
  }
}

/** Whether an installed version is the pinned one; undefined = one of them cannot be parsed. */
export const isVersion = (found: string, wanted: string): boolean | undefined => {
  const [there, asked] = [versionOf(found), versionOf(wanted)]
  if (there === undefined || asked === undefined) return found === wanted ? true : undefined
  return there.public === asked.public && (asked.local === undefined || asked.local === there.local)
}

export interface PackageRequirement {
  name: string
  /** The accepted versions; empty = any version, or any in `range`. */
  versions: string[]
  range?: string
  /** Whether every machine needs the package. */
  always: boolean
}

export interface PackageRequirements {
  found: PackageRequirement[]
  /** Whether every entry of the file was understood. */
  whole: boolean
}

/** Options that do not name a package. */
const harmless =
  /^(?:-i|-f|--(?:index-url|extra-index-url|find-links|trusted-host|no-index|pre|prefer-binary|only-binary|no-binary|require-hashes|hash))(?:[\s=]|$)/

const requirementIn = (line: string): PackageRequirement | undefined => {
  const [, name, rest = ''] = /^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)$/.exec(line) ?? []
  if (name === undefined || (rest !== '' && !/^[=<>!~;]/.test(rest))) return undefined
  const [, pinned] = /^===?\s*([^\s,;*]+)$/.exec(rest) ?? []
  // Evaluating an environment marker would need the interpreter.
  const always = !rest.includes(';')
  if (pinned !== undefined) return { name: normalName(name), versions: [pinned], always }
  return { name: normalName(name), versions: [], always, ...(rest === '' ? {} : { range: rest }) }
}

export const requirementsIn = (text: string): PackageRequirements => {
  const requirements: PackageRequirements = { found: [], whole: true }
  for (const raw of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const [plain = ''] = raw.split(/(?:^|\s)#/)
    const line = (plain.split(/\s--/)[0] ?? '').trim()
    if (line === '' || harmless.test(line)) continue
    const found = requirementIn(line)
    if (found === undefined) requirements.whole = false
    else requirements.found.push(found)
  }
  return requirements
}

/** The most versions of one package, for different machines. */
const maxVersions = 20

/** Parses poetry.lock and uv.lock. Packages that are not from a registry have no version there. */
export const lockedIn = (text: string): PackageRequirements => {
  const versions = new Map<string, string[]>()
  let entry: { name?: string; version?: string; own?: boolean } | undefined
  let inside = false
  const close = (): void => {
    if (entry?.name === undefined || entry.own === true) return
    const name = normalName(entry.name)
    const all = versions.get(name) ?? []
    if (entry.version !== undefined && all.length < maxVersions) all.push(entry.version)
    versions.set(name, all)
  }
  for (const line of text.split(/\r?\n/)) {
    if (line === '[[package]]') {
      close()
      entry = {}
      inside = true
    } else if (line.startsWith('[')) inside = false
    const [, key, value] = /^(name|version|source|type) = (.*)$/.exec(line) ?? []
    if (entry === undefined || key === undefined || value === undefined) continue
    if (inside && key === 'name') entry.name = value.replaceAll('"', '')
    else if (inside && key === 'version') entry.version = value.replaceAll('"', '')
    else if (inside && key === 'source') entry.own = !value.includes('registry =')
    else if (key === 'type') entry.own = value !== '"legacy"'
  }
  close()
  // With more versions than the limit, any version is accepted.
  const found = [...versions].map(([name, all]) => ({
    name,
    versions: all.length < maxVersions ? all : [],
    always: false,
  }))
  return { found, whole: found.length > 0 }
}

/**
 * The distribution that an entry of site-packages describes (`version` undefined = not named); null = a distribution with an
 * unclear name, undefined = not a distribution. Entries that start with a tilde are left over from an uninstall.
 */
export const distributionIn = (entry: string): { name: string; version: string | undefined } | null | undefined => {
  const [, stem = '', kind] = /^([^~].*)\.(dist-info|egg-info|egg-link)$/.exec(entry) ?? []
  if (kind === undefined) return undefined
  if (kind === 'egg-link') return { name: normalName(stem), version: undefined }
  const [name = '', version, ...more] = stem.replace(/-py\d[\d.]*$/, '').split('-')
  return version === undefined || more.length > 0 ? null : { name: normalName(name), version }
}

/** Modules that are or were part of Python, also on other systems. */
const ofPython = new Set(
  `abc aifc antigravity annotationlib argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex
  bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression
  concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal
  difflib dis distutils doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput
  fnmatch formatter fractions ftplib functools gc gdbm genericpath getopt getpass gettext glob graphlib grp gzip hashlib
  heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache
  locale logging lzma macpath mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc
  nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools
  pip pipes pkg_resources pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr
  pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select
  selectors setuptools shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile
  sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig
  syslog tabnanny tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter token tokenize
  tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings
  wave weakref webbrowser wheel winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
  ConfigParser Queue StringIO Tkinter cPickle cStringIO httplib urllib2 urlparse`.split(/\s+/),
)

/** Whether no requirement can declare the module, because a build generates it or it is part of Python. */
export const isUndeclarable = (module: string): boolean =>
  ofPython.has(module) || module.startsWith('_') || /_pb2(?:_grpc)?$|_version$/.test(module)
