/** Runners, linters and environments of Python. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const pythonToolRules = rulesOf('python', [
  ['pytest-usage', 'invalid_usage', 78, 'pytest 9, argparse', /^(?:[\w.-]+(?: [\w-]+)?: )?error: (?:unrecognized arguments?: (.+)|argument \S+: (?:invalid|expected|ignored|not allowed).*|invalid choice: .*|the following arguments are required.*|ambiguous option.*)/, 'pytest: error: unrecognized arguments: --maxfailures=1', { refine: 'usage' }],
  ['pytest-path', 'no_test_files', 84, 'pytest 9', /^ERROR: (?:file or directory not found: |not found: )|no tests ran in|collected 0 items(?: \/ \d+ deselected)?$|collected \d+ items? \/ \d+ deselected \/ 0 selected/, 'no tests ran in 1.01s'],
  ['pytest-config', 'config_error', 80, 'pytest 9, tox', /^ERROR: \S*(?:pyproject\.toml|pytest\.ini|setup\.cfg|tox\.ini|conftest\.py)[: ]|Unknown config option: |UsageError: .*(?:marker|conftest|config)|'\w+' not found in `markers`/, "ERROR: /repo/pyproject.toml: Expected ']' at the end of a table declaration"],
  ['pytest-minversion', 'dependency_version_conflict', 90, 'pytest 9', /'minversion' requires/, "ERROR: /repo/pytest.ini: 'minversion' requires pytest-99.0, actual pytest-9.0.3'"],
  ['pytest-fixture', 'test_failure', 60, 'pytest 9', /fixture '[^']+' not found/, "E       fixture 'client' not found"],
  ['unittest-none', 'no_test_files', 84, 'python unittest', /^NO TESTS RAN|^Ran 0 tests in|Start directory is not importable/, 'NO TESTS RAN'],
  ['doctest', 'test_failure', 66, 'doctest', /^\*\*\*Test Failed\*\*\*/, '***Test Failed*** 1 failures.'],
  ['flake8', 'lint_error', 66, 'flake8 7, pycodestyle, ruff, pydocstyle', /^\S+\.pyi?:\d+:\d+:? \[?[A-Z]{1,4}\d{2,4}\]? /, "app.py:1:1: F401 'os' imported but unused"],
  ['ruff', 'lint_error', 66, 'ruff, black 25, isort 6, pylint 3, yapf, bandit', /^Found \d+ errors?\.(?: |$)|\[\*\] \d+ fixable|^would reformat |\d+ files? would be reformatted|Imports are incorrectly sorted|^\S+\.py:\d+:\d+: [CRWEF]\d{4}: |^\*{13} Module |Your code has been rated|^>> Issue: \[B\d+|^[A-Z]{1,4}\d{2,4} (?:\[\*\] )?\S/, 'would reformat app.py'],
  ['mypy', 'compile_error', 66, 'mypy 1, pyright', /^\S+\.pyi?:\d+(?::\d+)?: error: |^Found \d+ errors? in \d+ files?|^\s*\S+\.pyi?:\d+:\d+ - error: |^\d+ errors?, \d+ warnings?/, 'app.py:3: error: Incompatible return value type (got "str", expected "int")  [return-value]'],
  ['mypy-stubs', 'dependency_missing', 70, 'mypy 1, pyright', /Library stubs not installed for|Cannot find implementation or library stub for module named|Import "[^"]+" could not be resolved/, 'app.py:1: error: Library stubs not installed for "requests"  [import-untyped]'],
  ['coverage', 'test_failure', 70, 'coverage 7', /Coverage failure: total of|FAIL Required test coverage of/, 'FAIL Required test coverage of 90% not reached. Total coverage: 71.00%'],
  ['compileall', 'compile_error', 58, 'python 3', /^\*\*\* Error compiling '/, "*** Error compiling 'app/a.py'..."],
  ['venv', 'corrupted_install', 82, 'virtualenv', /No module named 'encodings'|Could not find platform (?:in)?dependent libraries|bad interpreter: .*(?:venv|\.tox)|Fatal Python error: init_\w+|virtual ?environment .* (?:broken|invalid)/, "ModuleNotFoundError: No module named 'encodings'"],
  ['tox-env', 'missing_script', 80, 'tox 4, nox, invoke, poe', /provided environments not found in configuration file|Sessions not found: |No idea what '[^']+' is!|Unrecognized task '|unknown environment '|Task '[^']+' not found/, 'ROOT: HandledError| provided environments not found in configuration file: lint'],
  ['build-wheel', 'dependency_missing', 66, 'pip 25', /Failed building wheel for|Python\.h: No such file|pg_config executable not found|Microsoft Visual C\+\+ .* is required/, 'ERROR: Failed building wheel for psycopg2'],
])
