/**
 * Modules that exist outside of a repository: a new file of the same name is loaded in their place. Python searches the folder of the
 * program first, so `json.py` beside a test replaces the standard library's. Pure.
 */
import { lastSegment, parentOf } from '../check/shell-calls.ts'

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
export const shadowsModule = (path: string, isPackage: (folder: string) => boolean): boolean => {
  if (/(?:^|\/)node_modules\//.test(path)) return true
  if (!path.endsWith('.py')) return false
  const folder = parentOf(path)
  // Inside of a package, a name is that package's own. The package itself may have the name of a module.
  const top = isPackage(folder)
    ? folder.split('/').find((_, index, all) => isPackage(all.slice(0, index + 1).join('/')))
    : undefined
  return python.has(top ?? lastSegment(path).replace(/\.py$/, ''))
}
