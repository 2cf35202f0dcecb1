/** Unix programs other than shells and compilers: Tcl, tar, patch, awk, sed, jq, valgrind, and command lines built with click. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const unixRules = rulesOf('unix', [
  ['tcl-command', 'runtime_error', 62, 'tcl 8.6', /^(?:invalid command name ".+"|wrong # args: should be ".+"|can't read ".+": no such (?:variable|element in array))$/, 'invalid command name "nope_command"'],
  ['tcl-script', 'missing_script', 72, 'tcl 8.6', /^couldn't read file "([^"]+)": no such file or directory/, `couldn't read file "nowhere.tcl": no such file or directory`, { refine: 'path' }],
  ['tcl-frame', 'runtime_error', 41, 'tcl 8.6', /^ {4}\(file "[^"]+" line \d+\)$/, '    (file "a.tcl" line 1)'],
  ['tar-open', 'runtime_error', 52, 'GNU tar 1.34', /^(?:bsd)?tar(?: \(child\))?: ([^:]+): Cannot (?:open|stat): No such file/, 'tar (child): dist/app.tar.gz: Cannot open: No such file or directory', { refine: 'path' }],
  ['tar-short', 'disk_full', 82, 'GNU tar 1.34', /^tar: \S+: Wrote only \d+ of \d+ bytes/, 'tar: out.tar: Wrote only 4096 of 10240 bytes'],
  ['hunk', 'git_conflict', 74, 'GNU patch 2.7', /^(?:Hunk #\d+ FAILED at \d+|\d+ out of \d+ hunks? (?:FAILED|ignored))/, '1 out of 1 hunk FAILED -- saving rejects to file a.txt.rej', { counter: 'Hunk #1 succeeded at 2 (offset 1 line).' }],
  ['inline-program', 'invalid_usage', 72, 'GNU sed 4.9, gawk 5, jq 1.6', /^(?:sed: -e expression #\d+, char \d+: |g?awk: cmd\. line:\d+: |jq: error: syntax error|jq: \d+ compile errors?)/, "sed: -e expression #1, char 3: unterminated `s' command"],
  ['awk-program', 'compile_error', 70, 'mawk 1.3, gawk 5, busybox awk', /^[gm]?awk: (?:\S+: )?line \d+: (?:syntax error|missing|unexpected|runaway|unmatched)|^g?awk: \S+:\d+: .*(?:syntax error|unterminated|unexpected)/, 'awk: line 2: missing } near end of file'],
  ['memcheck', 'runtime_error', 74, 'valgrind 3.19', /^==\d+== +(?:Invalid (?:read|write|free)|Conditional jump or move depends|Use of uninitialised|Process terminating with default action|Mismatched free|definitely lost: [1-9]|.*are definitely lost)/, '==23567== Invalid read of size 4', { counter: '==1== ERROR SUMMARY: 0 errors from 0 contexts' }],
  ['click', 'invalid_usage', 74, 'click 8, typer, flask, black, uvicorn', /^Error: (?:No such (?:option|command)|Missing (?:option|argument|parameter|command)|Invalid value for|Got unexpected extra argument|Option '[^']+' (?:requires|does not))/, 'Error: No such option: --nope'],
  ['bpaf', 'invalid_usage', 74, 'bpaf, clap, biome, oxlint', /^(?:Error|error): (?:no such (?:command or positional|flag)\b|.{1,80} is not expected in this context|unexpected argument '[^']+' found|unrecognized subcommand '[^']+')/, 'Error: no such command or positional: `nope`, did you mean `rage`?'],
  ['at-line-col', 'lint_error', 62, 'jshint 2, csslint 1, standard', /^\S+: line \d+, col \d+, \w|^ {2}\S+:\d+:\d+: .* \([\w/-]+\)$/, 'app.js: line 1, col 10, Missing semicolon.'],
  ['scanned', 'lint_error', 60, 'htmlhint 1', /^Scanned \d+ files?, found [1-9]\d* (?:errors?|warnings?) in/, 'Scanned 1 files, found 4 errors in 1 files (385 ms)'],
  ['unused', 'lint_error', 64, 'knip 6, depcheck 1', /^(?:Unused|Unlisted|Unresolved|Duplicate|Missing) (?:files|(?:dev|optional|peer)?[dD]ependencies|exports|exported types|binaries|imports)(?: \(\d+\))?$/, 'Unused dependencies (1)'],
  ['schema-invalid', 'lint_error', 60, 'ajv-cli 5', /^\S+\.(?:json5?|ya?ml) invalid$/, 'data.json invalid'],
  ['mocha-none', 'no_test_files', 70, 'mocha 11', /^\s{2}0 passing\b/, '  0 passing (9ms)', { exits: [0] }],
  ['rc-unread', 'config_error', 76, 'mocha 11, cosmiconfig', /^(?:\w*Error: )?(?:Unable to (?:read\/)?parse|JSON Error in|YAML Error in|Failed to parse|Cannot parse) \S*(?:rc(?:\.\w+)?|config\.\w+)\b/, 'Error: Unable to read/parse /repo/.mocharc.json: SyntaxError: Unexpected end of JSON input'],
  ['flask-app', 'missing_script', 78, 'flask 3', /^Error: (?:Could not locate a Flask application|Failed to find Flask application)/, "Error: Could not locate a Flask application. Use the 'flask --app' option, 'FLASK_APP' environment variable, or a 'wsgi.py' or 'app.py' file in the current directory."],
])
