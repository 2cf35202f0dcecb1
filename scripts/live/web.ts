/** Tools that come from the npm registry. */
import { casesOf, type LiveCase } from './case.ts'

const manifest = { 'package.json': '{"name":"app","version":"1.0.0"}' }
const broken = 'const = 1\n'

const mocha = casesOf('mocha', { packages: ['mocha'], files: manifest })
const ava = casesOf('ava', { packages: ['ava@5'], files: { 'package.json': '{"name":"app","type":"module"}' } })
const tape = casesOf('tape', { packages: ['tape'], files: manifest })
const jasmine = casesOf('jasmine', { packages: ['jasmine'], files: manifest })
const qunit = casesOf('qunit', { packages: ['qunit'], files: manifest })
const uvu = casesOf('uvu', { packages: ['uvu'], files: manifest })
const jest = casesOf('jest', { packages: ['jest'], files: manifest })
const vitest = casesOf('vitest', { packages: ['vitest@3'], files: manifest })
const cucumber = casesOf('cucumber', { packages: ['@cucumber/cucumber'], files: manifest })
const c8 = casesOf('c8', { packages: ['c8'] })

const runners: LiveCase[] = [
  mocha('mocha test.js', 'test_failure', {
    'test.js': "it('adds', () => require('assert').strictEqual(1 + 1, 3))",
  }),
  mocha('mocha test.js', 'test_failure', { 'test.js': "it('waits', (done) => {}).timeout(50)" }),
  mocha('mocha nowhere/*.js', ['no_test_files', 'unsupported_format']),
  mocha("mocha 'nowhere/*.js'", 'no_test_files'),
  mocha('mocha test.js', 'dependency_missing', { 'test.js': "const chai = require('chai')\nit('adds', () => {})" }),
  mocha('mocha test.js', 'compile_error', { 'test.js': broken }),
  mocha('mocha test.js', 'compile_error', { 'test.js': "require('./lib/sum')" }),
  // It accepts any option, and exits with 0 when nothing passed.
  mocha('mocha --no-such-option test.js', 'no_test_files', { 'test.js': '' }),
  mocha('mocha test.js', 'config_error', { 'test.js': '', '.mocharc.json': '{ "spec": ' }),
  mocha('mocha --exit test.js', 'port_in_use', {
    'test.js':
      "it('serves', (done) => { const n = require('net'); const a = n.createServer().listen(0, () => n.createServer().listen(a.address().port)) })",
  }),
  ava(
    'ava',
    'test_failure',
    { 'test.js': "import test from 'ava'\ntest('adds', (t) => t.is(1 + 1, 3))" },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  ava('ava', 'no_test_files'),
  tape(
    'tape test.js',
    'test_failure',
    { 'test.js': "require('tape')('adds', (t) => { t.equal(2, 3); t.end() })" },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  tape('tape test.js', 'dependency_missing', { 'test.js': "require('sinon')" }),
  jasmine('jasmine spec.js', 'test_failure', {
    'spec.js': "describe('sum', () => it('adds', () => expect(2).toBe(3)))",
  }),
  jasmine('jasmine', 'no_test_files', { 'spec/support/jasmine.json': '{"spec_dir":"spec","spec_files":["*.js"]}' }),
  qunit('qunit test.js', 'test_failure', { 'test.js': "QUnit.test('adds', (assert) => assert.equal(2, 3))" }),
  qunit('qunit nowhere', 'no_test_files'),
  uvu(
    'uvu . test.js',
    'test_failure',
    { 'test.js': "const { test } = require('uvu')\ntest('adds', () => require('uvu/assert').is(2, 3))\ntest.run()" },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  jest('jest', 'test_failure', { 'sum.test.js': "test('adds', () => expect(2).toBe(3))" }),
  jest('jest', 'no_test_files'),
  jest('jest', 'dependency_missing', { 'sum.test.js': "require('left-pad')\ntest('adds', () => {})" }),
  jest('jest', 'compile_error', { 'sum.test.js': "require('./sum')\ntest('adds', () => {})" }),
  jest('jest', 'config_error', { 'jest.config.js': 'module.exports = {' }),
  vitest(
    'vitest run',
    'test_failure',
    { 'sum.test.js': "import { test, expect } from 'vitest'\ntest('adds', () => expect(2).toBe(3))" },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  vitest('vitest run', 'no_test_files'),
  vitest('vitest run', 'config_error', { 'vitest.config.js': 'export default {' }),
  cucumber(
    'cucumber-js',
    'test_failure',
    {
      'features/sum.feature': 'Feature: sum\n  Scenario: adds\n    Given a failing step\n',
      'features/steps.js':
        "require('@cucumber/cucumber').Given('a failing step', () => { throw new Error('expected 2 to equal 3') })",
    },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  cucumber('cucumber-js', 'compile_error', { 'features/sum.feature': 'Feature sum\n  nonsense\n' }),
  c8('c8 --check-coverage --lines 100 node app.js', 'test_failure', {
    'app.js': 'if (process.argv[9]) {\n  console.log(1)\n}\n',
  }),
]

const eslint = casesOf('eslint', { packages: ['eslint@9'] })
const prettier = casesOf('prettier', { packages: ['prettier@3'] })
const biome = casesOf('biome', { packages: ['@biomejs/biome'] })
const stylelint = casesOf('stylelint', { packages: ['stylelint@16', 'stylelint-config-standard@36'] })
const standard = casesOf('standard', { packages: ['standard'], files: manifest })
const markdownlint = casesOf('markdownlint', { packages: ['markdownlint-cli@0.44'] })
const htmlhint = casesOf('htmlhint', { packages: ['htmlhint'] })
const htmlValidate = casesOf('html-validate', { packages: ['html-validate'] })
const jshint = casesOf('jshint', { packages: ['jshint'] })
const csslint = casesOf('csslint', { packages: ['csslint'] })
const oxlint = casesOf('oxlint', { packages: ['oxlint'] })
const commitlint = casesOf('commitlint', { packages: ['@commitlint/cli@19', '@commitlint/config-conventional@19'] })
const jsonlint = casesOf('jsonlint', { packages: ['jsonlint'] })
const ajv = casesOf('ajv', { packages: ['ajv-cli'] })
const knip = casesOf('knip', { packages: ['knip'], files: manifest })

const linters: LiveCase[] = [
  eslint('eslint app.js', 'lint_error', {
    'eslint.config.js': 'module.exports = [{ rules: { "no-var": 2 } }]',
    'app.js': 'var a = 1',
  }),
  eslint('eslint app.js', 'lint_error', { 'eslint.config.js': 'module.exports = []', 'app.js': broken }),
  eslint('eslint app.js', 'config_error', { 'app.js': '' }),
  eslint('eslint app.js', 'config_error', {
    'eslint.config.js': 'module.exports = [{ rules: { "no-var": "never" } }]',
    'app.js': '',
  }),
  eslint('eslint app.js', 'dependency_missing', {
    'eslint.config.js': "module.exports = [require('eslint-plugin-acme')]",
    'app.js': '',
  }),
  eslint('eslint --nope app.js', 'invalid_usage', { 'app.js': '' }),
  prettier('prettier --check app.js', 'lint_error', { 'app.js': 'var  a=1' }),
  prettier('prettier --check app.js', ['lint_error', 'compile_error'], { 'app.js': broken }),
  prettier('prettier --check app.js', 'config_error', { 'app.js': '', '.prettierrc': '{ semi: ' }),
  biome('biome check app.js', 'lint_error', { 'biome.json': '{}', 'app.js': 'var a = 1;;debugger' }),
  biome('biome check app.js', 'config_error', { 'biome.json': '{ "linter": { "nope": 1 } }', 'app.js': '' }),
  biome('biome nope', 'invalid_usage'),
  stylelint(
    'stylelint a.css',
    'lint_error',
    { '.stylelintrc.json': '{"extends":"stylelint-config-standard"}', 'a.css': 'a { COLOR: #FFFFFF }' },
    { before: 'ln -s "$TOOLS" node_modules' },
  ),
  stylelint('stylelint a.css', 'config_error', { 'a.css': 'a { color: red }' }),
  stylelint('stylelint a.css', 'dependency_missing', {
    '.stylelintrc.json': '{"extends":"stylelint-config-acme"}',
    'a.css': 'a { color: red }',
  }),
  standard('standard', 'lint_error', { 'app.js': 'var a = 1;\n' }),
  markdownlint('markdownlint README.md', 'lint_error', { 'README.md': '#No space\n\n\n\ntext' }),
  htmlhint('htmlhint index.html', 'lint_error', { 'index.html': '<DIV><p></DIV>' }),
  htmlValidate('html-validate index.html', 'lint_error', {
    '.htmlvalidate.json': '{"extends":["html-validate:recommended"]}',
    'index.html': '<p><div></p>',
  }),
  jshint('jshint app.js', 'lint_error', { 'app.js': 'var a = 1' }),
  csslint('csslint a.css', 'lint_error', { 'a.css': '#a { width: 0px; padding: 1px }' }),
  oxlint('oxlint -D no-debugger app.js', 'lint_error', { 'app.js': 'debugger\n' }),
  oxlint('oxlint app.js', 'config_error', { '.oxlintrc.json': '{ "rules": ', 'app.js': '' }),
  commitlint(
    'commitlint --edit message.txt',
    'lint_error',
    {
      'message.txt': 'Fixed it.\n',
      'commitlint.config.js': "module.exports = { extends: ['@commitlint/config-conventional'] }",
    },
    { before: 'git init -q; ln -s "$TOOLS" node_modules' },
  ),
  jsonlint('jsonlint -q a.json', ['lint_error', 'config_error', 'compile_error'], { 'a.json': '{ "a": }' }),
  ajv('ajv validate -s schema.json -d data.json', ['lint_error', 'test_failure'], {
    'schema.json': '{"type":"object","required":["id"]}',
    'data.json': '{}',
  }),
  knip('knip', 'lint_error', {
    'package.json': '{"name":"app","main":"index.js","dependencies":{"left-pad":"1"}}',
    'index.js': '',
    'unused.js': '',
  }),
]

const tsc = casesOf('tsc', { packages: ['typescript@5'] })
const tsNode = casesOf('ts-node', { packages: ['ts-node', 'typescript@5'] })
const webpack = casesOf('webpack', { packages: ['webpack', 'webpack-cli'] })
const rollup = casesOf('rollup', { packages: ['rollup'] })
const babel = casesOf('babel', { packages: ['@babel/core', '@babel/cli', '@babel/preset-env'] })
const terser = casesOf('terser', { packages: ['terser'] })
const asc = casesOf('asc', { packages: ['assemblyscript'] })
const sass = casesOf('sass', { packages: ['sass'] })
const less = casesOf('less', { packages: ['less'] })
const stylus = casesOf('stylus', { packages: ['stylus'] })
const coffee = casesOf('coffee', { packages: ['coffeescript'] })
const pug = casesOf('pug', { packages: ['pug-cli'] })
const solc = casesOf('solc', { packages: ['solc'] })
const pyright = casesOf('pyright', { packages: ['pyright'] })

const compilers: LiveCase[] = [
  tsc('tsc --noEmit a.ts', 'compile_error', { 'a.ts': 'const a: number = "x"' }),
  tsc('tsc --noEmit a.ts', 'dependency_missing', { 'a.ts': 'import pad from "left-pad"\npad()' }),
  tsc('tsc --noEmit a.ts', 'compile_error', { 'a.ts': 'import pad from "./pad"\npad()' }),
  tsc('tsc --noEmit', 'config_error', { 'tsconfig.json': '{ "compilerOptions": { "target": "ES1999" } }', 'a.ts': '' }),
  tsc('tsc -p .', 'config_error', { 'tsconfig.json': '{ "include": ["nowhere"] }' }),
  tsc('tsc --nope', 'invalid_usage', { 'a.ts': '' }),
  tsNode('ts-node a.ts', 'compile_error', { 'a.ts': 'const a: number = "x"; console.log(a)' }),
  webpack('webpack --mode production --entry ./a.js', 'compile_error', { 'a.js': broken }),
  webpack('webpack --mode production --entry ./a.js', 'dependency_missing', { 'a.js': "require('left-pad')" }),
  webpack('webpack --mode production --entry ./a.js', 'compile_error', { 'a.js': "require('./pad')" }),
  webpack('webpack', 'config_error', { 'webpack.config.js': 'module.exports = { nope: 1 }', 'src/index.js': '' }),
  webpack('webpack --nope', 'invalid_usage', { 'src/index.js': '' }),
  rollup('rollup a.js', 'compile_error', { 'a.js': 'import "./pad.js"' }),
  rollup('rollup a.js', 'compile_error', { 'a.js': broken }),
  rollup('rollup -c', ['config_error', 'compile_error'], { 'rollup.config.js': 'export default {' }),
  babel('babel a.js', 'compile_error', { 'a.js': broken }),
  babel('babel a.js', 'dependency_missing', { 'a.js': '1', '.babelrc': '{"presets":["@babel/preset-react"]}' }),
  babel('babel a.js', 'config_error', { 'a.js': '1', '.babelrc': '{"presets":' }),
  terser('terser a.js', 'compile_error', { 'a.js': broken }),
  asc('asc a.ts -o a.wasm', 'compile_error', { 'a.ts': 'export function f(): i32 { return "x" }' }),
  sass('sass a.scss', 'compile_error', { 'a.scss': 'a { color: $nope }' }),
  sass('sass a.scss', 'compile_error', { 'a.scss': '@use "nope";' }),
  less('lessc a.less', 'compile_error', { 'a.less': 'a { color: @nope }' }),
  stylus('stylus -p a.styl', 'compile_error', { 'a.styl': 'a\n  color: nope(\n' }),
  coffee('coffee -c a.coffee', 'compile_error', { 'a.coffee': 'a = (\n' }),
  pug('pug a.pug', 'compile_error', { 'a.pug': 'div(a="\n' }),
  solc('solcjs --bin a.sol', 'compile_error', {
    'a.sol': 'pragma solidity >=0.4.0;\ncontract A { function f() public { uint x = "a"; } }',
  }),
  pyright('pyright a.py', ['compile_error', 'lint_error'], { 'a.py': 'x: int = "a"\n' }),
]

const gulp = casesOf('gulp', { packages: ['gulp'], before: 'ln -s "$TOOLS" node_modules' })
const grunt = casesOf('grunt', { packages: ['grunt', 'grunt-cli'], before: 'ln -s "$TOOLS" node_modules' })
const just = casesOf('just', { packages: ['rust-just'] })
const pnpm = casesOf('pnpm', { packages: ['pnpm@10'], files: manifest })
const yarn = casesOf('yarn', { packages: ['yarn@1'], files: manifest })

const taskRunners: LiveCase[] = [
  gulp('gulp nope', 'missing_script', { 'gulpfile.js': 'exports.build = (done) => done()' }),
  // Only the program, without the project's own package.
  gulp('gulp build', 'dependency_missing', {}, { before: '' }),
  gulp('gulp build', 'runtime_error', {
    'gulpfile.js': "exports.build = () => { throw new TypeError('x is undefined') }",
  }),
  grunt('grunt nope', 'missing_script', { 'Gruntfile.js': 'module.exports = () => {}' }),
  grunt('grunt build', 'missing_script'),
  just('just nope', ['missing_make_target', 'missing_script'], { justfile: 'build:\n  true\n' }),
  just('just build', 'compile_error', { justfile: 'build:\n  gcc -c a.c\n', 'a.c': 'int main( {' }),
  pnpm('pnpm run nope', 'missing_script'),
  pnpm('pnpm install --frozen-lockfile', 'dependency_version_conflict', {
    'package.json': '{"name":"app","dependencies":{"left-pad":"1"}}',
    'pnpm-lock.yaml': "lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n",
  }),
  pnpm('pnpm install --fetch-retries=0', 'network_unreachable', {
    'package.json': '{"name":"app","dependencies":{"left-pad":"1"}}',
    '.npmrc': 'registry=http://127.0.0.1:9/\n',
  }),
  yarn('yarn run nope', 'missing_script'),
  yarn('yarn run build', 'command_not_found', { 'package.json': '{"name":"app","scripts":{"build":"acme-bundler"}}' }),
]

export const webCases = [...runners, ...linters, ...compilers, ...taskRunners]
