/** Yarn and Bun: their own error codes. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const yarnRules = rulesOf('packages', [
  ['yarn-command', 'missing_script', 90, 'yarn-classic, yarn-berry', /^error Command "[^"]+" not found\.|Couldn't find a script named "|Unknown workspace "|Workspace '[^']+' not found/, 'error Command "lint" not found.'],
  ['yarn-no-manifest', 'missing_script', 90, 'yarn-classic, yarn-berry', /Couldn't find a package\.json file|The nearest package directory .* doesn't seem to be part of the project|No project found in the initial directory/, 'error Couldn\'t find a package.json file in "/repo"'],
  ['yarn-lock', 'dependency_version_conflict', 90, 'yarn-classic, yarn-berry', /Your lockfile needs to be updated|YN0028|The lockfile would have been (?:modified|created) by this install|YN0060.*incompatible/, 'error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.'],
  ['yarn-version', 'dependency_version_conflict', 88, 'yarn-classic, yarn-berry, bun 1', /Couldn't find any versions for|No version matching "|YN0082|No candidates found|No version matching .{1,80} found|but package exists/, 'error Couldn\'t find any versions for "is-number" that matches "^99.0.0"', { action: 'code_fix', infra: false }],
  ['yarn-missing', 'dependency_missing', 84, 'yarn-classic, yarn-berry', /^error (?:Error: )?https?:\/\/[^\s"]+\/([^/\s"]+?)"?: Not found|YN0035.*(?:not found|404)/, 'error Error: https://packages.example/fast-json-differ-x: Not found', { refine: 'missingPackage' }],
  ['yarn-auth', 'auth_failure', 88, 'yarn-classic, yarn-berry', /^error .*(?:authentication required|bad auth|Unauthorized|Forbidden)|YN0041|YN0033|Invalid authentication/, 'error Error: https://npm.pkg.example/@acme%2fui: authentication required'],
  ['yarn-5xx', 'network_transient', 86, 'yarn-classic, yarn-berry', /trouble with the npm registry|responseCode: 5\d\d|error .*Request failed "5\d\d|YN0001.*(?:5\d\d|429)|Response Code: (?:5\d\d|429)/, 'info There appears to be trouble with the npm registry (returned undefined). Retrying...'],
  ['yarn-state', 'dependency_missing', 86, 'yarn-berry 4', /Couldn't find the node_modules state file|The project in .*package\.json doesn't seem to have been installed|Usage Error: .*running an install|Required package missing from disk|isn't declared in your dependencies|your application tried to access/, "Usage Error: Couldn't find the node_modules state file - running an install might help (findPackageLocation)"],
  ['yarn-integrity', 'corrupted_install', 88, 'yarn-berry 4', /YN0018|The remote archive doesn't match the expected checksum/, "➤ YN0018: lodash@npm:4.17.21: The remote archive doesn't match the expected checksum"],
  ['bun-script', 'missing_script', 92, 'bun 1', /^error: (?:Script not found "|No package\.json was found|package\.json not found|missing script)|^error: Module not found "(?:scripts\/|\.\/scripts\/)/i, 'error: Script not found "build"'],
  ['bun-module', 'compile_error', 70, 'bun 1', /^error: (?:Module not found|Could not resolve:?) "([^"]+)"|error: Cannot find module "([^"]+)"/, 'error: Could not resolve: "hono"', { refine: 'jsModule' }],
  ['bun-dns', 'network_unreachable', 86, 'bun 1', /^error: (?:DNSResolveFailed|FailedToOpenSocket|ConnectionRefused|UnableToConnect) (?:downloading|resolving)|Unable to connect to (?:registry|npm)/, 'error: DNSResolveFailed downloading package manifest is-number'],
  ['bun-transfer', 'network_transient', 86, 'bun 1', /^error: (?:ConnectionClosed|ConnectionReset|Timeout|HTTPError|TooManyRedirects|UnexpectedEOF|ConnectionTimeout)\w* (?:downloading|resolving|extracting)|^error: GET \S+ - (?:5\d\d|429)/, 'error: ConnectionClosed downloading package manifest is-number'],
  ['bun-auth', 'auth_failure', 90, 'bun 1', /^error: GET \S+ - 40[13]/, 'error: GET https://npm.pkg.example/@acme%2fui - 401'],
  ['bun-404', 'dependency_missing', 88, 'bun 1', /^error: GET \S+?\/([^/\s]+) - 404/, 'error: GET https://packages.example/fast-x - 404', { refine: 'missingPackage' }],
  ['bun-frozen', 'dependency_version_conflict', 90, 'bun 1', /lockfile had changes, but lockfile is frozen|incorrect peer dependency/, 'error: lockfile had changes, but lockfile is frozen'],
  ['bun-config', 'config_error', 88, 'bun 1', /failed to load bunfig|at \S*bunfig\.toml:\d|Failed to parse \S*(?:bunfig|package\.json)/, 'SyntaxError: failed to load bunfig'],
  ['bun-compile', 'compile_error', 60, 'bun 1', /^error: (?:Unexpected |Expected |Syntax Error|"\w+" has already been declared|No matching export in "\.)/, 'error: Unexpected ;'],
  ['bun-no-tests', 'no_test_files', 88, 'bun 1', /^No tests found!|filters? did not match any test files/, 'No tests found!'],
  ['bun-no-export', 'dependency_version_conflict', 60, 'bun 1', /No matching export in "[^."/][^"]*" for import|Export named '[^']+' not found in module '\S*node_modules/, 'error: No matching export in "node_modules/x/index.js" for import "y"'],
])
