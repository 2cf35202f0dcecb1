import { expect, test } from 'vitest'
import { assignedSecretIn } from './assigned-secret.ts'

test.each<[string, string | undefined]>([
  ['NPM_TOKEN=npm_a1b2c3 npm ci', 'NPM_TOKEN'],
  ['cd web && DB_PASSWORD="hunter2 and more" npm test', 'DB_PASSWORD'],
  ['export API_KEY=abc123; npm ci', 'API_KEY'],
  ['env AWS_SECRET_ACCESS_KEY=abc make', 'AWS_SECRET_ACCESS_KEY'],
  ['npm ci --token=abc123', 'token'],
  ['deploy --password hunter2', 'password'],
  ['bash -c "GH_TOKEN=abc123 gh api"', 'GH_TOKEN'],
  ['npm config set //registry.example.org/:_authToken=abc123', '_authToken'],
  ['NPM_TOKEN=$NPM_TOKEN npm ci', undefined],
  ['NPM_TOKEN=none npm ci', undefined],
  ['NPM_TOKEN= npm ci', undefined],
  ['AUTHOR=Ada npm ci', undefined],
  ['ssh-add --key ~/.ssh/id', undefined],
  ['npm ci --auth-type legacy', undefined],
  ['vitest --passWithNoTests --reporter dot', undefined],
])('%s', (command, name) => {
  expect(assignedSecretIn(command)).toBe(name)
})
