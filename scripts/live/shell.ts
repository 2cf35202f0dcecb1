/** Shells, git, services, file transfers and archives. */
import { casesOf, type LiveCase } from './case.ts'

const bash = casesOf('bash')
const sh = casesOf('sh')

const shells: LiveCase[] = [
  bash('bash a.sh', 'compile_error', { 'a.sh': 'if true; then\n' }),
  bash('bash a.sh', 'command_not_found', { 'a.sh': 'acme-tool --version\n' }),
  bash('bash nowhere.sh', 'missing_script'),
  bash('bash a.sh', 'missing_env_var', { 'a.sh': 'set -u\necho "$API_TOKEN"\n' }),
  bash('bash a.sh', 'disk_full', { 'a.sh': 'head -c 4000000 /dev/zero > out\n' }, { under: 'full disk' }),
  bash(
    'bash a.sh',
    'permission_denied',
    { 'a.sh': 'set -e\necho x > locked/a\n' },
    { under: 'another user', before: 'mkdir -m 755 locked' },
  ),
  bash('./a.sh', 'permission_denied', { 'a.sh': '#!/bin/sh\n' }, { under: 'another user', before: 'chmod 644 a.sh' }),
  sh('sh a.sh', 'compile_error', { 'a.sh': 'case x in\n' }),
  sh('sh a.sh', 'command_not_found', { 'a.sh': 'acme-tool --version\n' }),
  casesOf('test')('test -f dist/app.js', ['build_artifact_missing', 'test_failure']),
  casesOf('grep')('grep -q needle a.txt', 'test_failure', { 'a.txt': 'hay\n' }),
  casesOf('diff')('diff a.txt b.txt', 'test_failure', { 'a.txt': '1\n', 'b.txt': '2\n' }),
  casesOf('cmp')('cmp a.txt b.txt', 'test_failure', { 'a.txt': '1\n', 'b.txt': '2\n' }),
  casesOf('timeout')('timeout 1 sleep 5', 'timeout'),
  casesOf('awk')("awk '{ print $1' a.txt", ['compile_error', 'invalid_usage'], { 'a.txt': '' }),
  casesOf('sed')('sed s/a a.txt', ['compile_error', 'invalid_usage'], { 'a.txt': '' }),
  casesOf('jq')("jq -e '.ready' a.json", 'test_failure', { 'a.json': '{"ready":false}' }),
  casesOf('tar')('tar xzf dist/app.tar.gz', 'build_artifact_missing'),
  casesOf('tar')(
    'tar cf out.tar big',
    'disk_full',
    {},
    { under: 'full disk', before: 'ln -s /usr/bin/git big', environment: { TAR_OPTIONS: '-h' } },
  ),
  casesOf('cp')('cp /usr/bin/git big', 'disk_full', {}, { under: 'full disk' }),
  casesOf('cp')('cp dist/app.js public/app.js', 'build_artifact_missing'),
  casesOf('patch')('patch -p0 -i a.patch', ['git_conflict', 'test_failure'], {
    'a.txt': 'x\n',
    'a.patch': '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-y\n+z\n',
  }),
  casesOf('dd')('dd if=/dev/zero of=out bs=1M count=4', 'disk_full', {}, { under: 'full disk' }),
]

const git = casesOf('git', {
  before: 'git init -q -b main && git commit -q --allow-empty -m first',
  environment: { GIT_AUTHOR_NAME: 't', GIT_AUTHOR_EMAIL: 't@t', GIT_COMMITTER_NAME: 't', GIT_COMMITTER_EMAIL: 't@t' },
})
const begin = 'git init -q -b main && git commit -q --allow-empty -m first'
const twoSides = `${begin} && git checkout -q -b side && echo a > f && git add f && git commit -qm a && git checkout -q main && echo b > f && git add f && git commit -qm b`

const gits: LiveCase[] = [
  git('git status', 'git_state', {}, { before: 'true' }),
  git('git merge side', 'git_conflict', {}, { before: twoSides }),
  git('git rebase side', 'git_conflict', {}, { before: twoSides }),
  git('git cherry-pick side', 'git_conflict', {}, { before: twoSides }),
  git(
    'git push origin main',
    'git_diverged',
    {},
    {
      before: `${begin} && git clone -q --bare . r.git && git remote add origin r.git && git commit -q --amend --allow-empty -m other`,
    },
  ),
  git('git merge --ff-only side', 'git_diverged', {}, { before: twoSides }),
  git('git commit -m nothing', 'no_changes'),
  git('git checkout nowhere', 'git_state'),
  git('git commit --allow-empty -m x', 'git_state', {}, { before: `${begin} && touch .git/index.lock` }),
  git(
    'git apply a.patch',
    'git_conflict',
    { 'a.patch': '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-y\n+z\n' },
    { before: `${begin} && echo x > f` },
  ),
  git('git clone https://packages.invalid/a.git', 'network_unreachable'),
  git('git nope', 'invalid_usage'),
  git(
    'git diff --exit-code',
    'test_failure',
    {},
    { before: `${begin} && echo a > f && git add f && git commit -qm f && echo b > f` },
  ),
  git(
    'git add big',
    'disk_full',
    {},
    { under: 'full disk', before: `${begin} && ln /usr/bin/git big 2> /dev/null || head -c 600000 /dev/urandom > big` },
  ),
]

const curl = casesOf('curl')
const wget = casesOf('wget')

const services: LiveCase[] = [
  curl('curl -fsS http://packages.invalid/', 'network_unreachable'),
  curl('curl -fsS http://127.0.0.1:9/', 'service_unavailable'),
  curl('curl --nope http://127.0.0.1:9/', 'invalid_usage'),
  wget('wget -q -t 1 -S http://packages.invalid/', 'network_unreachable'),
  wget('wget -t 1 http://packages.invalid/', 'network_unreachable'),
  wget('wget -t 1 http://127.0.0.1:9/', 'service_unavailable'),
  casesOf('psql')("psql -h 127.0.0.1 -p 9 -c 'select 1'", 'service_unavailable'),
  casesOf('docker')('docker ps', 'service_unavailable'),
  casesOf('docker')('docker build .', 'service_unavailable', { Dockerfile: 'FROM scratch\n' }),
  casesOf('kubectl')('kubectl get pods', ['service_unavailable', 'config_error']),
  casesOf('terraform')('terraform validate', ['config_error', 'compile_error'], { 'main.tf': 'resource "a" {\n' }),
  casesOf('ssh')('ssh -o BatchMode=yes packages.invalid true', 'network_unreachable'),
  casesOf('openssl')('openssl s_client -connect 127.0.0.1:9', 'service_unavailable'),
  casesOf('sqlite3')("sqlite3 a.db 'select * from nowhere'", ['runtime_error', 'compile_error']),
  casesOf('sqlite3')(
    "sqlite3 a.db 'create table t(x); insert into t values (randomblob(4000000))'",
    'disk_full',
    {},
    { under: 'full disk' },
  ),
  casesOf('unzip')('unzip -q a.zip', ['corrupted_install', 'runtime_error', 'unknown'], { 'a.zip': 'no zip' }),
]

export const shellCases = [...shells, ...gits, ...services]
