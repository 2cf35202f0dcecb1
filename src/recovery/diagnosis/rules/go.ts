/** The go command. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const goRules = rulesOf('compiled', [
  ['go-checksum', 'corrupted_install', 90, 'go', /missing go\.sum entry|go: .*(?:zip|mod): (?:not a valid|unexpected)|malformed go\.sum/, 'go: github.com/x/y@v1.0.0: missing go.sum entry for go.mod file', { refine: 'goSum' }],
  ['go-module', 'dependency_missing', 78, 'go', /no required module provides package|cannot find package "[^"]+"|is not in (?:GOROOT|std)\b|cannot find module providing package|no Go files in \S*\/pkg\/mod|module \S+ (?:found|provides).*but does not contain package|module lookup disabled by GOPROXY=off/, 'main.go:2:8: no required module provides package github.com/gorilla/mux; to add it:'],
  ['go-own-package', 'compile_error', 64, 'go', /package \S+ is not in (?:GOROOT|std)|import cycle not allowed|use of internal package|found packages \w+ .* and \w+/, 'package acme/app is not in std', { counter: 'ok acme/app' }],
  ['go-404', 'dependency_missing', 76, 'go', /(?:404 Not Found|unknown revision|invalid version: unknown|repository not found)/, 'reading https://proxy.example/x/@v/list: 404 Not Found', { refine: 'installing', action: 'code_fix', infra: false }],
  ['go-vendor', 'dependency_version_conflict', 88, 'go', /inconsistent vendoring|updates to go\.mod needed|go: updates to go\.sum|requires \S+@v[\d.]+.*but|ambiguous import|go mod tidy/, 'go: inconsistent vendoring in /repo:'],
  ['go-version', 'runtime_version', 86, 'go', /go\.mod requires go >= ?|invalid go version '|requires go[ >=]*\d|unknown directive: toolchain|toolchain not available|module requires Go \d|note: module requires Go|go: cannot find GOROOT/, 'go: go.mod requires go >= 1.24 (running go 1.22.1; GOTOOLCHAIN=local)'],
  ['go-config', 'config_error', 74, 'go, golangci-lint', /errors parsing go\.(?:mod|work)|\S*go\.mod:\d+: (?:unknown directive|syntax error|usage)|can't load config: |unsupported version of the configuration|malformed module path/, 'go: errors parsing go.mod:'],
  ['go-embed', 'build_artifact_missing', 74, 'go', /pattern ([^\s:]+): no matching files found/, 'main.go:3:12: pattern web/dist/*: no matching files found', { refine: 'sourceFile' }],
  ['go-fork', 'command_not_found', 70, 'go', /fork\/exec ([^\s:]+): no such file or directory/, 'fork/exec ../bin/app: no such file or directory', { refine: 'program' }],
  ['go-exec', 'command_not_found', 82, 'go', /exec: "([^"]+)": executable file not found/, 'exec: "mockgen": executable file not found in $PATH', { refine: 'program' }],
  ['go-no-module', 'missing_script', 80, 'go', /directory prefix \S+ does not contain (?:main module|modules listed)|go: (?:cannot find main module|go\.mod file not found)|go\.mod file not found in current directory|no Go files in \/repo|named files must|go: no modules specified|no such tool "|does not contain main module/, 'pattern ./...: directory prefix . does not contain main module or its selected dependencies'],
  ['go-no-dir', 'no_test_files', 76, 'go', /pattern \S+: lstat \S+: no such file|^(?:go: warning: )?"?\S*\.\.\."? matched no packages|^(?:stat|lstat) \S+: directory not found|no packages to test|package \S+ is not in std/, 'pattern ./internal/...: lstat ./internal/: no such file or directory'],
  ['go-no-tests', 'no_test_files', 44, 'go', /\[no test files\]|testing: warning: no tests to run|\[no tests to run\]/, '?   \tacme/app\t[no test files]', { refine: 'noTests' }],
  ['go-vet', 'lint_error', 62, 'go vet, golangci-lint, staticcheck', /^vet: |^\S+\.go:\d+:\d+: .* \((?:[a-z]+|[A-Z]{1,2}\d{4})\)$|^\d+ issues:$|\b(?:SA|ST|S|QF)\d{4}\)?$/, 'main.go:5:2: Error return value is not checked (errcheck)'],
  ['go-fmt', 'lint_error', 50, 'gofmt, goimports', /^[\w./-]+\.go$/, 'main.go', { stream: 'stdout' }],
  ['go-error', 'compile_error', 60, 'go', /^\S+\.go:\d+(?::\d+)?: |\[build failed\]|\[setup failed\]|^# [\w./-]+ \[[\w./-]+\.test\]/, './a_test.go:3:32: too many arguments in call to F', { counter: '    a_test.go:3: got 1' }],
  ['go-panic', 'runtime_error', 52, 'go', /^panic: |^fatal error: (?:all goroutines are asleep|concurrent map|stack overflow|unexpected signal)|^goroutine \d+ \[running\]/, 'panic: runtime error: invalid memory address or nil pointer dereference'],
  ['go-timeout', 'timeout', 84, 'go', /^panic: test timed out after/, 'panic: test timed out after 10m0s'],
  ['go-vcs', 'permission_denied', 78, 'go', /error obtaining VCS status: exit status 128/, 'error obtaining VCS status: exit status 128'],
  ['go-auth', 'auth_failure', 88, 'git 2', /could not read (?:Username|Password) for|terminal prompts disabled/, "fatal: could not read Username for 'https://github.com': terminal prompts disabled"],
])
