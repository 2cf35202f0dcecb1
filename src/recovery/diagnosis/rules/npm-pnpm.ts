/** npm and pnpm: their own error codes. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const npmRules = rulesOf('packages', [
  ['npm-missing-script', 'missing_script', 92, 'npm 11', /[Mm]issing script: ?"?\S|No workspaces found:|npm (?:error|ERR!) .*No workspaces found/, 'npm error Missing script: "e2e"'],
  ['npm-no-manifest', 'missing_script', 90, 'npm 11', /(?:ENOENT|enoent).*(?:Could not read|open).*package\.json|Could not read package\.json|Couldn't find a package\.json|No package\.json (?:found|\(or|was found)|No `?package\.json`? (?:was )?found/, 'npm error enoent Could not read package.json: Error: ENOENT: no such file or directory'],
  ['npm-unknown-command', 'invalid_usage', 80, 'npm 11, yarn-berry, pnpm 10', /^Unknown command: "[^"]*"$|^(?:npm error )?(?:Unknown (?:cli )?(?:command|option|config))\b|ERR_PNPM_UNKNOWN_OPTION|Unknown Syntax Error: Command not found|Unknown options?: '/, 'Unknown command: "tests"'],
  ['npm-lock-sync', 'dependency_version_conflict', 90, 'npm 11', /can only install (?:packages )?(?:when|with an existing) |package\.json and package-lock\.json.{0,60}(?:not |are )?in sync|[Mm]issing: \S+@\S+ from lock file|Invalid: lock file's/, 'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.'],
  ['npm-eresolve', 'dependency_version_conflict', 92, 'npm 11', /\bERESOLVE\b|unable to resolve dependency tree|Could not resolve dependency:|Conflicting peer dependency/, 'npm error ERESOLVE unable to resolve dependency tree'],
  ['npm-etarget', 'dependency_version_conflict', 88, 'npm 11', /\bETARGET\b|No matching version found for|notarget/, 'npm error notarget No matching version found for is-number@^99.0.0.', { action: 'code_fix', infra: false }],
  ['npm-integrity', 'corrupted_install', 92, 'npm 11', /\bEINTEGRITY\b|integrity checksum failed|ERR_PNPM_TARBALL_INTEGRITY|[Ii]ncorrect integrity|[Ii]ntegrity ?[Cc]heck ?[Ff]ailed|TAR_BAD_ARCHIVE|zlib: unexpected end of file/, 'npm error code EINTEGRITY'],
  ['npm-e401', 'auth_failure', 90, 'npm 11', /npm (?:error|ERR!) (?:code )?(?:E401|E403|ENEEDAUTH|EOTP)|ENEEDAUTH|Unable to authenticate|requires you to be logged in|Incorrect or missing password/, 'npm error code E403'],
  ['npm-e404', 'dependency_missing', 86, 'npm 11', /npm (?:error|ERR!) (?:404 +(?:Not Found - GET|'))\D*?\S*?\/((?:@|%40)?[^/\s]+?)(?: - .*)?$/, 'npm error 404 Not Found - GET https://packages.example/fast-json-differ-x - Not found', { refine: 'missingPackage' }],
  ['npm-code-e404', 'dependency_missing', 80, 'npm 11', /npm (?:error|ERR!) code E404/, 'npm error code E404', { action: 'code_fix', infra: false }],
  ['npm-5xx', 'network_transient', 88, 'npm 11', /npm (?:error|ERR!) (?:code E5\d\d|5\d\d |code E429|429 |code EAI_FAIL|code ECONNRESET|code ERR_SOCKET_TIMEOUT)/, 'npm error code E500'],
  ['npm-html', 'network_unreachable', 88, 'npm 11', /invalid json response body at https?:|FETCH_ERROR|Unexpected token '?<'?.*is not valid JSON/, 'npm error code FETCH_ERROR', { action: 'escalate' }],
  ['npm-config', 'config_error', 84, 'npm 11', /Only HTTP\(S\) protocols are supported|npm error code (?:EJSONPARSE|EINVALIDTAGNAME|EINVALIDPACKAGENAME|EUNSUPPORTEDPROTOCOL)|[Ii]nvalid (?:package name|dependency type requested)|Failed to parse (?:root )?package\.json/, 'npm error Only HTTP(S) protocols are supported'],
  ['npm-exec', 'command_not_found', 84, 'npm 11', /could not determine executable to run|npx canceled due to missing packages|npm error code ENOVERSIONS/, 'npm error could not determine executable to run'],
  ['pnpm-no-script', 'missing_script', 92, 'pnpm 10', /ERR_PNPM_NO_SCRIPT\b|ERR_PNPM_NO_SCRIPT_OR_SERVER|ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT|ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND|ERR_PNPM_NO_PKG_MANIFEST|ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL.*Command "[^"]+" not found|No projects matched the filters|None of the selected packages has a/, ' ERR_PNPM_NO_SCRIPT  Missing script: build'],
  ['pnpm-lockfile', 'dependency_version_conflict', 90, 'pnpm 10', /ERR_PNPM_(?:OUTDATED_LOCKFILE|LOCKFILE_CONFIG_MISMATCH|PEER_DEP_ISSUES|FROZEN_LOCKFILE_WITH_OUTDATED_LOCKFILE|NO_LOCKFILE|LOCKFILE_BREAKING_CHANGE|CATALOG\w*|UNUSED_PATCH)/, ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"'],
  ['pnpm-version', 'dependency_version_conflict', 90, 'pnpm 10', /ERR_PNPM_NO_MATCHING_VERSION/, ' ERR_PNPM_NO_MATCHING_VERSION  No matching version found for is-number@^99.0.0', { action: 'code_fix', infra: false }],
  ['pnpm-broken', 'config_error', 92, 'pnpm 10', /ERR_PNPM_BROKEN_LOCKFILE/, ' ERR_PNPM_BROKEN_LOCKFILE  The lockfile is broken', { action: 'install', infra: true }],
  ['pnpm-404', 'dependency_missing', 90, 'pnpm 10', /ERR_PNPM_FETCH_404.*?\/((?:@|%40)?[^/\s]+?): Not Found/, ' ERR_PNPM_FETCH_404  GET https://packages.example/@acme%2Fdesign-tokens: Not Found - 404', { refine: 'missingPackage' }],
  ['pnpm-auth', 'auth_failure', 92, 'pnpm 10', /ERR_PNPM_FETCH_40[13]|ERR_PNPM_AUTH\w*/, ' ERR_PNPM_FETCH_403  GET https://npm.example/x: Forbidden - 403'],
  ['pnpm-transfer', 'network_transient', 86, 'pnpm 10', /ERR_PNPM_(?:FETCH_(?:5\d\d|429)|BROKEN_METADATA_JSON|BAD_TARBALL_SIZE|META_FETCH_FAIL.*(?:ECONNRESET|ETIMEDOUT|socket))/, ' ERR_PNPM_FETCH_503  GET https://packages.example/x: Service Unavailable - 503'],
  ['pnpm-offline', 'dependency_missing', 88, 'pnpm 10', /ERR_PNPM_NO_OFFLINE_(?:TARBALL|META)/, ' ERR_PNPM_NO_OFFLINE_TARBALL  A package is missing from the store'],
  ['pnpm-store', 'corrupted_install', 84, 'pnpm 10', /ERR_PNPM_(?:UNEXPECTED_STORE|UNEXPECTED_VIRTUAL_STORE|MODIFIED_DEPENDENCY|MODULES_BREAKING_CHANGE|BROKEN_NODE_MODULES)/, ' ERR_PNPM_UNEXPECTED_STORE  Unexpected store location'],
])
