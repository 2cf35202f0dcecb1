/** A database of its own for a test file, on the server that the suite shares. Files that stop a server start their own. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'

export interface Database {
  /** Holds the password. */
  url: string
  clear(): Promise<void>
}

const onServer = async (statement: string): Promise<void> => {
  const client = new Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export const openDatabase = async (): Promise<Database> => {
  const name = `test_${randomBytes(6).toString('hex')}`
  // template1, the default, cannot be copied while anyone is connected to it.
  await onServer(`create database ${name} template template0`)
  return {
    url: inject('postgresUrl').replace(/[^/]*$/, name),
    clear: () => onServer(`drop database ${name} with (force)`),
  }
}
