/** Tools of a developer's machine: language runtimes, compilers, build tools. */
import { casesOf, type LiveCase } from './case.ts'

const manifest = { 'package.json': '{"name":"app","version":"1.0.0"}' }

const node = casesOf('node')
const nodeTest = casesOf('node --test')
const npm = casesOf('npm', { files: manifest })

const javascript: LiveCase[] = [
  node('node app.js', 'compile_error', { 'app.js': 'const = 1' }),
  node('node app.js', 'dependency_missing', { 'app.js': "require('left-pad')" }),
  node('node app.mjs', 'dependency_missing', { 'app.mjs': "import 'left-pad'" }),
  node('node app.js', 'compile_error', { 'app.js': "require('./lib/sum')" }),
  node('node nowhere.js', 'missing_script'),
  node('node dist/app.js', 'build_artifact_missing'),
  node('node app.js', 'runtime_error', { 'app.js': 'undefined.length' }),
  node('node --nope app.js', 'invalid_usage', { 'app.js': '' }),
  node('node --max-old-space-size=20 app.js', 'out_of_memory', {
    'app.js': 'const a = []; for (;;) a.push({ n: a.length })',
  }),
  node('node app.js', 'port_in_use', {
    'app.js':
      "const n = require('net'); const a = n.createServer().listen(0, () => n.createServer().listen(a.address().port))",
  }),
  node('node app.js', 'service_unavailable', { 'app.js': "require('net').connect(9, '127.0.0.1')" }),
  node('node app.js', 'network_unreachable', { 'app.js': "require('https').get('https://packages.invalid/')" }),
  node('node app.js', 'missing_env_var', {
    'app.js': "if (!process.env.DATABASE_URL) throw new Error('Missing environment variable DATABASE_URL')",
  }),
  node(
    'node app.js',
    'disk_full',
    { 'app.js': "require('fs').writeFileSync('out.bin', Buffer.alloc(4e6))" },
    { under: 'full disk' },
  ),
  node(
    'node app.js',
    'resource_limit',
    { 'app.js': "for (let i = 0; i < 100; i++) require('fs').openSync('app.js')" },
    { under: 'few files' },
  ),
  node(
    'node app.js',
    'permission_denied',
    { 'app.js': "require('fs').writeFileSync('locked/a', '')" },
    { under: 'another user', before: 'mkdir -m 755 locked' },
  ),
  node('node app.js', 'command_not_found', { 'app.js': "require('child_process').spawn('acme-tool')" }),
  node('node app.js', 'auth_failure', {
    'app.js':
      "const h = require('http'); const s = h.createServer((_, r) => { r.statusCode = 401; r.end() }).listen(0, () => h.get({ port: s.address().port }, (r) => { throw new Error('request failed: 401 Unauthorized') }))",
  }),
  nodeTest('node --test', 'test_failure', {
    'a.test.js': "require('node:test').test('adds', () => require('assert').equal(2, 3))",
  }),
  nodeTest('node --test', 'compile_error', { 'a.test.js': 'const = 1' }),
  nodeTest('node --test nowhere.test.js', ['no_test_files', 'missing_script']),
  npm('npm run nope', 'missing_script'),
  npm('npm test', 'missing_script', {}, { before: 'rm package.json' }),
  npm('npm run build', 'command_not_found', { 'package.json': '{"scripts":{"build":"acme-bundler"}}' }),
  npm('npm run build', 'config_error', { 'package.json': '{"scripts":' }),
  npm('npm instal-all', 'invalid_usage'),
  npm('npm ci', 'dependency_version_conflict', {
    'package.json': '{"dependencies":{"left-pad":"1"}}',
    'package-lock.json': '{"lockfileVersion":3,"packages":{"":{}}}',
  }),
  npm('npm install --fetch-retries=0 left-pad', 'network_unreachable', { '.npmrc': 'registry=http://127.0.0.1:9/\n' }),
  npm('npm install --fetch-retries=0 left-pad', 'network_unreachable', {
    '.npmrc': 'registry=http://packages.invalid/\n',
  }),
  npm('npm install --engine-strict', 'runtime_version', { 'package.json': '{"engines":{"node":">=99"}}' }),
  npm('npm test', 'test_failure', {
    'package.json': '{"scripts":{"test":"node --test"}}',
    'a.test.js': "require('node:test').test('adds', () => require('assert').equal(2, 3))",
  }),
]

const python = casesOf('python')
const pytest = casesOf('pytest')
const unittest = casesOf('python unittest')
const pip = casesOf('pip')

const pythons: LiveCase[] = [
  python('python3 app.py', 'compile_error', { 'app.py': 'def f(:\n' }),
  python('python3 app.py', 'compile_error', { 'app.py': 'def f():\nreturn 1\n' }),
  python('python3 app.py', 'dependency_missing', { 'app.py': 'import acme_lib\n' }),
  python('python3 app.py', 'missing_env_var', { 'app.py': 'import os\nprint(os.environ["DATABASE_URL"])\n' }),
  python('python3 app.py', 'runtime_error', { 'app.py': 'print(1 / 0)\n' }),
  python('python3 nowhere.py', 'missing_script'),
  python('python3 -m acme_lib', 'dependency_missing'),
  python('python3 app.py', 'port_in_use', {
    'app.py':
      'import socket\na = socket.socket(); a.bind(("127.0.0.1", 0)); a.listen()\nb = socket.socket(); b.bind(a.getsockname())\n',
  }),
  python('python3 app.py', 'service_unavailable', {
    'app.py': 'import socket\nsocket.create_connection(("127.0.0.1", 9))\n',
  }),
  python('python3 app.py', 'network_unreachable', {
    'app.py': 'import urllib.request\nurllib.request.urlopen("https://packages.invalid/")\n',
  }),
  python(
    'python3 app.py',
    'disk_full',
    { 'app.py': 'open("out.bin", "wb").write(b"x" * 4000000)\n' },
    { under: 'full disk' },
  ),
  python(
    'python3 app.py',
    'resource_limit',
    { 'app.py': 'files = [open("app.py") for _ in range(100)]\n' },
    { under: 'few files' },
  ),
  python('python3 app.py', 'out_of_memory', { 'app.py': 'a = "x" * (4 * 1024 ** 3)\n' }, { under: 'little memory' }),
  python(
    'python3 app.py',
    'permission_denied',
    { 'app.py': 'open("locked/a", "w")\n' },
    { under: 'another user', before: 'mkdir -m 755 locked' },
  ),
  python('python3 app.py', 'command_not_found', { 'app.py': 'import subprocess\nsubprocess.run(["acme-tool"])\n' }),
  unittest('python3 -m unittest', 'test_failure', {
    'test_sum.py':
      'import unittest\nclass T(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(2, 3)\n',
  }),
  unittest('python3 -m unittest', 'dependency_missing', { 'test_sum.py': 'import acme_lib\n' }),
  pytest('pytest', 'test_failure', { 'test_sum.py': 'def test_adds():\n    assert 2 == 3\n' }),
  pytest('pytest', 'no_test_files', { 'app.py': '' }),
  pytest('pytest', 'dependency_missing', { 'test_sum.py': 'import acme_lib\ndef test_adds():\n    pass\n' }),
  pytest('pytest', 'compile_error', { 'test_sum.py': 'def test_adds(:\n' }),
  pytest('pytest --no-such-option', 'invalid_usage'),
  pytest('pytest tests/nowhere.py', ['no_test_files', 'missing_script']),
  pytest('pytest', 'missing_env_var', { 'test_sum.py': 'import os\ndef test_adds():\n    os.environ["API_TOKEN"]\n' }),
  pip('pip install --no-index acme-lib', 'dependency_missing'),
  pip('pip install --retries 1 --index-url https://packages.invalid/simple acme-lib', 'network_unreachable'),
  casesOf('cfn-lint')('cfn-lint template.yaml', 'lint_error', {
    'template.yaml': 'Resources:\n  A:\n    Type: AWS::S3::Bucket\n    Properties:\n      Nope: 1\n',
  }),
  casesOf('aws')(
    'aws sts get-caller-identity',
    'auth_failure',
    {},
    { environment: { AWS_EC2_METADATA_DISABLED: 'true', AWS_DEFAULT_REGION: 'eu-west-1' } },
  ),
  casesOf('flask')('flask run', ['config_error', 'missing_script']),
]

const gcc = casesOf('gcc')
const gxx = casesOf('g++')
const make = casesOf('make')
const cmake = casesOf('cmake')
const ctest = casesOf('ctest')
const main = 'int main(void) { return 0; }\n'

const natives: LiveCase[] = [
  gcc('gcc -c a.c', 'compile_error', { 'a.c': 'int main(void) { retrun 0; }' }),
  gcc('gcc -c a.c', 'dependency_missing', { 'a.c': '#include <acme/lib.h>\n' }),
  gcc('gcc -c a.c', 'compile_error', { 'a.c': '#include "sum.h"\n' }),
  gcc('gcc a.c', 'compile_error', { 'a.c': 'int sum(int);\nint main(void) { return sum(1); }' }),
  gcc('gcc a.c -lacme', 'dependency_missing', { 'a.c': main }),
  gcc('gcc --nope a.c', 'invalid_usage', { 'a.c': main }),
  gcc('gcc -c a.c', 'disk_full', { 'a.c': 'char a[4000000] = { 1 };\n' }, { under: 'full disk' }),
  gxx('g++ -c a.cc', 'compile_error', {
    'a.cc': '#include <vector>\nint main() { std::vector<int> v; v.push_bak(1); }',
  }),
  gxx('g++ a.cc', 'compile_error', { 'a.cc': 'struct S { void f(); };\nint main() { S s; s.f(); }' }),
  casesOf('program')(
    './app',
    'runtime_error',
    { 'a.c': 'int main(void) { volatile int *p = 0; return *p; }' },
    { before: 'gcc a.c -o app' },
  ),
  casesOf('program')(
    './app',
    ['test_failure', 'runtime_error'],
    { 'a.c': '#include <assert.h>\nint main(void) { assert(1 + 1 == 3); }' },
    { before: 'gcc a.c -o app' },
  ),
  casesOf('program')(
    './app',
    'dependency_missing',
    { 'a.c': 'int sum(void);\nint main(void) { return sum(); }', 'b.c': 'int sum(void) { return 0; }' },
    { before: 'gcc -shared -o libacme.so b.c && gcc a.c -L. -lacme -o app && rm libacme.so' },
  ),
  make('make nope', 'missing_make_target', { Makefile: 'all:\n\ttrue\n' }),
  make('make', 'missing_make_target'),
  make('make', 'compile_error', { Makefile: 'all: a.o\na.o: a.c\n\tgcc -c a.c\n' }),
  make('make', 'compile_error', { Makefile: 'all:\n\tgcc -c a.c\n', 'a.c': 'int main(' }),
  make('make', 'config_error', { Makefile: 'all:\n    true\n' }),
  make('make lint', 'command_not_found', { Makefile: 'lint:\n\tacme-lint .\n' }),
  make('make test', 'test_failure', {
    Makefile: 'test:\n\tpython3 -m unittest\n',
    'test_sum.py':
      'import unittest\nclass T(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(2, 3)\n',
  }),
  cmake('cmake -S . -B build', ['missing_make_target', 'missing_script', 'config_error']),
  cmake('cmake -S . -B build', 'dependency_missing', {
    'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nfind_package(AcmeLib REQUIRED)\n',
  }),
  cmake('cmake -S . -B build', 'config_error', {
    'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nnope_command()\n',
  }),
  cmake('cmake -S . -B build', 'runtime_version', { 'CMakeLists.txt': 'cmake_minimum_required(VERSION 99.0)\n' }),
  ctest(
    'ctest --test-dir build',
    'test_failure',
    {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.10)\nproject(a NONE)\nenable_testing()\nadd_test(NAME adds COMMAND false)\n',
    },
    { before: 'cmake -S . -B build > /dev/null' },
  ),
  casesOf('valgrind')(
    'valgrind -q --error-exitcode=9 ./app',
    ['test_failure', 'runtime_error'],
    { 'a.c': '#include <stdlib.h>\nint main(void) { int *p = malloc(4); return p[2]; }' },
    { before: 'gcc -g a.c -o app' },
  ),
  casesOf('ld')(
    'ld -o app a.o',
    'compile_error',
    { 'a.c': 'int sum(int);\nint f(void) { return sum(1); }' },
    { before: 'gcc -c a.c' },
  ),
  casesOf('as')('as a.s -o a.o', 'compile_error', { 'a.s': 'nope %eax\n' }),
]

const cargo = casesOf('cargo', {
  ownHome: true,
  files: {
    'Cargo.toml': '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/main.rs': 'fn main() {}\n',
  },
})
const javac = casesOf('javac')
const java = casesOf('java')
const mvn = casesOf('mvn', { ownHome: true })
const pom = (more: string): string =>
  `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>app</artifactId><version>1</version>${more}</project>`

const managed: LiveCase[] = [
  cargo('cargo build --offline', 'compile_error', { 'src/main.rs': 'fn main() { let x: i32 = "a"; }\n' }),
  cargo('cargo test --offline', 'test_failure', {
    'src/main.rs': 'fn main() {}\n#[test]\nfn adds() { assert_eq!(2, 3); }\n',
  }),
  cargo('cargo build --offline', 'dependency_missing', { 'src/main.rs': 'use acme_lib::x;\nfn main() {}\n' }),
  cargo('cargo build --offline', 'runtime_version', {
    'Cargo.toml': '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\nrust-version = "1.999"\n',
  }),
  cargo('cargo build --offline', 'config_error', { 'Cargo.toml': '[package\n' }),
  cargo('cargo build --offline', 'missing_script', {}, { before: 'rm Cargo.toml' }),
  cargo('cargo run --offline', 'runtime_error', {
    'src/main.rs': 'fn main() { let v: Vec<i32> = vec![]; println!("{}", v[1]); }\n',
  }),
  cargo('cargo fmt --check', 'lint_error', { 'src/main.rs': 'fn main(){let x=1;}\n' }),
  // A linker that writes through mapped memory is killed by SIGBUS and does not mention the disk; the disk probe does.
  cargo('cargo build --offline', ['disk_full', 'runtime_error'], {}, { under: 'full disk' }),
  casesOf('rustc', { ownHome: true })('rustc a.rs', 'compile_error', {
    'a.rs': 'fn main() { let s = String::new(); drop(s); drop(s); }\n',
  }),
  casesOf('rustfmt', { ownHome: true })('rustfmt --check a.rs', 'lint_error', { 'a.rs': 'fn main(){let x=1;}\n' }),
  javac('javac A.java', 'compile_error', { 'A.java': 'class A { int f() { return "a"; } }' }),
  javac('javac A.java', 'dependency_missing', { 'A.java': 'import org.acme.Lib;\nclass A {}' }),
  javac('javac Nowhere.java', ['missing_script', 'compile_error']),
  java(
    'java A',
    'runtime_error',
    { 'A.java': 'class A { public static void main(String[] a) { Object o = null; o.hashCode(); } }' },
    { before: 'javac A.java' },
  ),
  java(
    'java -Xmx8m A',
    'out_of_memory',
    {
      'A.java':
        'class A { public static void main(String[] a) { java.util.List<int[]> l = new java.util.ArrayList<>(); for (;;) l.add(new int[100000]); } }',
    },
    { before: 'javac A.java' },
  ),
  java('java -jar build/libs/app.jar', 'build_artifact_missing'),
  java('java --nope A', 'invalid_usage'),
  mvn('mvn -o -q test', 'missing_script'),
  mvn('mvn -o -q validate', 'config_error', { 'pom.xml': '<project><modelVersion>' }),
  mvn('mvn -o -q compile', ['dependency_missing', 'network_unreachable'], {
    'pom.xml': pom(
      '<dependencies><dependency><groupId>org.acme</groupId><artifactId>lib</artifactId><version>1</version></dependency></dependencies>',
    ),
  }),
  mvn('mvn -o -q nope', 'invalid_usage', { 'pom.xml': pom('') }),
]

const perl = casesOf('perl')
const tclsh = casesOf('tclsh')
const prove = casesOf('prove')

const scripts: LiveCase[] = [
  perl('perl a.pl', 'compile_error', { 'a.pl': 'use strict;\nmy $x = ;\n' }),
  perl('perl a.pl', 'dependency_missing', { 'a.pl': 'use Acme::Lib;\n' }),
  perl('perl a.pl', 'runtime_error', { 'a.pl': 'my $x = 0; print 1 / $x;\n' }),
  perl('perl nowhere.pl', 'missing_script'),
  perl(
    'perl a.pl',
    'disk_full',
    {
      'a.pl':
        'open(my $f, ">", "out") or die; print $f "x" x 4000000 or die "write: $!"; close($f) or die "cannot close: $!\\n";\n',
    },
    { under: 'full disk' },
  ),
  perl(
    'perl a.pl',
    'permission_denied',
    { 'a.pl': 'open(my $f, ">", "locked/a") or die "locked/a: $!";\n' },
    { under: 'another user', before: 'mkdir -m 755 locked' },
  ),
  prove('prove a.t', 'test_failure', { 'a.t': 'use Test::More tests => 1;\nis(1 + 1, 3, "adds");\n' }),
  prove('prove a.t', 'dependency_missing', { 'a.t': 'use Acme::Lib;\n' }),
  tclsh('tclsh a.tcl', 'runtime_error', { 'a.tcl': 'nope_command 1\n' }),
  tclsh('tclsh a.tcl', 'dependency_missing', { 'a.tcl': 'package require acme\n' }),
  tclsh('tclsh nowhere.tcl', 'missing_script'),
  tclsh('tclsh a.tcl', 'test_failure', {
    'a.tcl': 'package require tcltest\ntcltest::test adds {} { expr {1 + 1} } 3\ntcltest::cleanupTests\nexit 1\n',
  }),
]

export const systemCases = [...javascript, ...pythons, ...natives, ...managed, ...scripts]
