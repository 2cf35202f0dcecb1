/**
 * Splits a change into its subject (what the work is about) and its instruments (what the checks measure it with): tests, fixtures,
 * manifests, files of builds and runners, dotfiles, and files that tools load because of their name or place. In doubt a file is an
 * instrument: a subject that is taken for an instrument costs a question, the reverse would let a change vouch for itself. Pure.
 */
import { isDocumentation } from '../documentation.ts'
import { snapshotFile, testFamilies } from '../test-families.ts'
import { toolConfigurations } from '../check/tool-configurations.ts'
import { parentOf, lastSegment } from '../check/shell-calls.ts'
import { isSource } from './break-source.ts'

// Modules that exist outside of a repository: a new file of the same name is loaded in their place. Python searches the folder of the
// program first, so `json.py` beside a test replaces the standard library's. Pure.

/** Modules of Python's standard library (docs.python.org, "Python Module Index", 3.13) and of its test runners. */
const python = new Set(
  `abc aifc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cgi cmath cmd code codecs codeop
  collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses datetime dbm
  decimal difflib dis doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools
  gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools
  json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc numbers operator optparse
  os pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc
  queue quopri random re readline reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket
  socketserver sqlite3 sre_compile ssl stat statistics string stringprep struct subprocess symtable sys sysconfig syslog tarfile tempfile
  termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata
  unittest urllib uuid venv warnings wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
  pytest _pytest pluggy py iniconfig exceptiongroup nose nose2 hypothesis mock coverage xdist tox nox sitecustomize usercustomize
  pip setuptools pkg_resources wheel`.split(/\s+/),
)

/** Whether a new file would be loaded in the place of a module outside of the repository. `isPackage`: whether a folder is a Python package. */
const shadowsModule = (path: string, isPackage: (folder: string) => boolean): boolean => {
  if (/(?:^|\/)node_modules\//.test(path)) return true
  if (!path.endsWith('.py')) return false
  const folder = parentOf(path)
  // Inside of a package, a name is that package's own. The package itself may have the name of a module.
  const top = isPackage(folder)
    ? folder.split('/').find((_, index, all) => isPackage(all.slice(0, index + 1).join('/')))
    : undefined
  return python.has(top ?? lastSegment(path).replace(/\.py$/, ''))
}

export interface SplitRequest {
  /** Changed paths. `added`: the base commit does not have them. */
  changed: readonly { path: string; added: boolean }[]
  /** All paths of the base commit. */
  base: readonly string[]
  /** Files that the checks run or name, in the base commit or in the work. */
  run: ReadonlySet<string>
  /** Words of the checks, paths by their last segment: a document among them is more than one. */
  words: ReadonlySet<string>
  /** Changed manifests of which only the dependencies changed. */
  dependencies: ReadonlySet<string>
}

export interface Split {
  subject: string[]
  instruments: string[]
}

export type ChangePart = 'subject' | 'instrument' | 'documentation'

const testFolder =
  /(?:^|\/)(?:tests?|testing|testdata|test[-_](?:data|utils?|helpers?|support)|specs?|__tests__|__mocks__|__fixtures__|__snapshots__|mocks|fixtures?|e2e|cypress|features)\//i
/** Names that a test, or what tests share, has in no folder of its own. */
const testName =
  /(?:^|\/)(?:conftest|sitecustomize|usercustomize|tests?|test[-_][^/]*|[^/]*[-_.](?:tests?|spec|cy|e2e|mock|fixture|golden|snap))\.\w+$|\.snap$|\.pth$/i

const manifests =
  /(?:^|\/)(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|Cargo\.toml|go\.(?:mod|work)|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|deno\.jsonc?|mix\.exs|[^/]+\.(?:csproj|fsproj|sln|gemspec))$/
const locks =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile(?:\.lock)?|composer\.lock|Gemfile(?:\.lock)?|(?:requirements|constraints)[^/]*\.(?:txt|in))$/

/** Folders of sources by their usual names, and names of programs that check something. */
const productFolder = /(?:^|\/)(?:src|lib|app|pkg|internal|cmd)\//
/** Folders of programs that help to build and to check. What a check loads from there is not known, so all of it counts. */
const helperFolder = /(?:^|\/)(?:tools?|scripts?|ci|hack|build)\//
const checks = /check|test|spec|verif|valid|lint/i

/** Files that builds and runners read, whatever they are called with. */
const builds =
  /(?:^|\/)(?:GNUmakefile|[Mm]akefile|[^/]+\.(?:mk|mak)|[Jj]ustfile|Taskfile\.ya?ml|Rakefile|Gruntfile[^/]*|gulpfile[^/]*|Dockerfile[^/]*|compose\.ya?ml|docker-compose[^/]*|CMakeLists\.txt|[^/]+\.cmake|build\.(?:rs|xml|zig|sbt)|noxfile\.py|tox\.ini|pytest\.ini|rust-toolchain(?:\.toml)?|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|gradle\.properties|settings\.gradle(?:\.kts)?|Jenkinsfile|Procfile|[^/]+\.(?:config|conf|setup|workspace)\.\w+|(?:jest|vitest|mocha|karma|playwright|babel|webpack|rollup|vite|tsconfig|jsconfig|phpunit|nx|turbo|lerna|pnpm-workspace|workspace|bunfig|biome|codecov|sonar-project)[^/]*\.(?:[cm]?[jt]s|json5?|jsonc|ya?ml|toml|xml|properties|conf))$|(?:^|\/)(?:gradle|node_modules|site-packages|buildSrc)\//

const familyFiles = testFamilies.filter(({ name }) => name !== 'Rust').map(({ file }) => file)

/** Whether a test file, or a file that tests share. */
export const holdsTests = (path: string): boolean =>
  testFolder.test(path) || testName.test(path) || snapshotFile.test(path) || familyFiles.some((file) => file.test(path))

/** Below the top, programs read `.txt` files more often than people do. */
const isProse = (path: string): boolean =>
  isDocumentation([path]) && (!path.endsWith('.txt') || parentOf(path) === '' || /(?:^|\/)docs?\//.test(path))

const isDotted = (path: string): boolean => path.split('/').some((segment) => segment.startsWith('.'))

const configures = (path: string): boolean =>
  builds.test(path) || toolConfigurations.some(({ file }) => file.test(path) && !manifests.test(path))

/** A file of the product or of its documentation: nothing by which tools or checks work. */
const isOwn = (path: string): boolean =>
  !holdsTests(path) && !isDotted(path) && !configures(path) && (productFolder.test(path) || !helperFolder.test(path))

const packagesIn = ({ base, changed }: SplitRequest): ((folder: string) => boolean) => {
  const marks = new Set([...base, ...changed.map(({ path }) => path)])
  return (folder) => marks.has(folder === '' ? '__init__.py' : `${folder}/__init__.py`)
}

const isInstrument = (request: SplitRequest, path: string, added: boolean): boolean => {
  // Which packages are installed is part of the work.
  if (locks.test(path)) return false
  if (manifests.test(path)) return !request.dependencies.has(path)
  if (!isOwn(path) || (added && shadowsModule(path, packagesIn(request)))) return true
  // A program of a check is the check itself, unless it lies where the sources of a product lie, or the task has it made.
  const isProduct = isSource(path) && (productFolder.test(path) || (added && !checks.test(path)))
  return request.run.has(path) && !isProduct
}

export const partOf = (request: SplitRequest, path: string, added: boolean): ChangePart => {
  if (isInstrument(request, path, added)) return 'instrument'
  const isNamed = request.run.has(path) || request.words.has(lastSegment(path))
  return isProse(path) && !isNamed ? 'documentation' : 'subject'
}

export const splitChange = (request: SplitRequest): Split => {
  const parts = request.changed.map(({ path, added }) => ({ path, part: partOf(request, path, added) }))
  const those = (wanted: ChangePart): string[] => parts.filter(({ part }) => part === wanted).map(({ path }) => path)
  return { subject: those('subject'), instruments: those('instrument') }
}

/** Sources of the product in the base commit, which a working check notices when they are broken. */
export const productSources = ({ base, run }: Pick<SplitRequest, 'base' | 'run'>): string[] =>
  base.filter((path) => isSource(path) && isOwn(path) && !manifests.test(path) && !run.has(path))
