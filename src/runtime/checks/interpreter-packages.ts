/** Whether the interpreter of the checks has what requirements ask for: then the owner works with it, and nothing has to be installed. */
import { join } from 'node:path'
import type { Install } from '../../domain/install.ts'
import { commandEnvironment } from '../../process/environment.ts'
import { requirementFilesOf } from '../../recovery/install.ts'
import type { InstallRequest } from './install.ts'

/**
 * Only reads, while pip would build a project of the repository in order to compare it. Such a project is there if it was installed from
 * the owner's checkout. Anything that is not understood is an error, so that it counts as missing.
 */
const program = String.raw`
import sys
sys.path[:] = [each for each in sys.path if each]
import json, os, re
from importlib.metadata import distribution, distributions
try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
checkout, workspace, *files = sys.argv[1:]

def places():
    for each in distributions():
        text = each.read_text("direct_url.json")
        if text:
            yield json.loads(text).get("url")

def require(text, extra="", depth=0):
    wanted = Requirement(text)
    if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
        return
    found = distribution(wanted.name)
    if not wanted.specifier.contains(found.version, prereleases=True):
        sys.exit(1)
    for more in wanted.extras:
        for each in found.requires or []:
            if depth < 3 and "extra" in each:
                require(each, more, depth + 1)

def read(path, depth=0):
    if depth > 8:
        sys.exit(1)
    with open(path, encoding="utf-8-sig") as file:
        text = re.sub(r"\\\r?\n", " ", file.read())
    for line in text.splitlines():
        line = re.split(r"\s--", re.split(r"(?:^|\s)#", line)[0])[0].strip()
        option = re.match(r"(-[a-z]|--[a-z-]+)(?:[\s=]+|$)(.*)", line)
        name, value = (option[1], option[2]) if option else ("", line)
        if name in ("-r", "--requirement"):
            read(os.path.join(os.path.dirname(path), value), depth + 1)
        elif name in ("-e", "--editable") or re.match(r"[./]|file:", value) and not name:
            place = os.path.normpath(os.path.join(workspace, re.sub(r"\[.*\]$", "", value)))
            if "file://" + checkout + place[len(workspace):] not in places():
                sys.exit(1)
        elif value and not name:
            require(value)

for path in files:
    read(os.path.join(workspace, path))
`

const mostMs = 20_000

export const interpreterHas = async (request: InstallRequest, install: Install): Promise<boolean> => {
  const { workspace, repository, environment, extraNames, marker, keepAliveMs, signal, variables } = request
  const [python = ''] = install.commands[0] ?? []
  const dir = request.folder(0)
  request.ports.files.rmSync(dir, { recursive: true, force: true })
  const asked = await request.ports.processes.runCommand(dir, {
    argv: [python, '-c', program, repository.root, workspace, ...requirementFilesOf(install)],
    cwd: join(workspace, install.folder),
    environment: commandEnvironment(workspace, environment, extraNames, variables),
    timeoutMs: mostMs,
    graceMs: 1_000,
    ...{ marker, keepAliveMs, signal },
  })
  return asked.exitCode === 0 && !asked.timedOut && asked.spawnError === undefined
}
