import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { openClient } from './platform/database/connection.ts'
import { MasterKeys } from './platform/secrets/master-keys.ts'
import { StartError } from './platform/start-error.ts'
import { testDatabase, testMasterKey } from './platform/testing/server.ts'
import { prepareDatabase } from './prepare.ts'

const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'makes roles and databases of its own'

describe('database preparation', { skip }, () => {
  test('prepares a database at every start when the only attribute of its owner is CREATEROLE', async () => {
    await using place = await ownDatabase('createrole')
    for (let start = 1; start <= 2; start++) {
      const { app, server } = await prepare(place.owner)
      assert.equal('user' in app && app.user, `${place.database}_app`)
      assert.equal(server.binding, 'session')
    }
  })

  test('accepts a database URL with a socket folder as host', async () => {
    await using place = await ownDatabase('createrole')
    const { host, user, database } = place.owner
    const { app } = await prepare({ url: `postgres://${user}@/${database}?host=${encodeURIComponent(host)}` })
    const client = await openClient(app)
    assert.equal((await client.query('select from tenants')).rowCount, 0)
    await client.end()
  })

  test('grants a second application role the same rights as the first', async () => {
    await using place = await ownDatabase('createrole')
    await prepare(place.owner)
    await using other = await place.role('login')
    const app = { ...place.owner, user: other.name }
    await prepare(place.owner, app)
    const client = await openClient(app)
    assert.equal((await client.query('select from tenants')).rowCount, 0)
    assert.equal((await client.query('select from audit_entries')).rowCount, 0)
    await client.end()
  })

  test('refuses an application role that can bypass the isolation of tenants', async () => {
    await using place = await ownDatabase('createrole')
    await prepare(place.owner)
    for (const [attributes, reason] of [
      ['login superuser', /is a superuser/],
      ['login bypassrls', /can bypass row-level security/],
    ] as const) {
      await using role = await place.role(attributes)
      await assert.rejects(prepare(place.owner, { ...place.owner, user: role.name }), oneSentence(reason))
    }
    await assert.rejects(prepare(place.owner, place.owner), oneSentence(/owns the table/))
  })

  test('reports a solution when the database owner cannot create roles or the server does not respond', async () => {
    await using place = await ownDatabase('nocreaterole')
    await assert.rejects(prepare(place.owner), oneSentence(/MILLWRIGHT_DATABASE_APP_URL/))
    await assert.rejects(
      prepare({ url: 'postgres://nobody@127.0.0.1:1/none' }),
      oneSentence(/cannot be reached.*DATABASE_URL/),
    )
  })
})

async function prepare(
  owner: Parameters<typeof prepareDatabase>[0]['owner'],
  app?: Parameters<typeof prepareDatabase>[0]['app'],
) {
  const masterKeys = await MasterKeys.open({
    file: '/nowhere/master.key',
    environmentKeys: [testMasterKey],
    transit: undefined,
  })
  return prepareDatabase({ owner, app, binding: 'auto', masterKeys })
}

function oneSentence(pattern: RegExp) {
  return (error: unknown) => error instanceof StartError && pattern.test(error.message) && !error.message.includes('\n')
}

/** Creates an empty database whose owner has these attributes, as an operator would create it. */
async function ownDatabase(attributes: 'createrole' | 'nocreaterole') {
  const clone = await testDatabase()
  if ('url' in clone.owner) throw new TypeError('This test needs the server of the test kit')
  const server = { ...clone.owner, database: 'postgres' }
  const superuser = await openClient(server)
  const database = `own_${randomBytes(6).toString('hex')}`
  const role = async (given: string) => {
    const name = `role_${randomBytes(6).toString('hex')}`
    await superuser.query(`create role ${name} ${given}`)
    return {
      name,
      [Symbol.asyncDispose]: async () => {
        await withDatabase((client) => client.query(`drop owned by ${name}`))
        await superuser.query(`drop role ${name}`)
      },
    }
  }
  const withDatabase = async (work: (client: Awaited<ReturnType<typeof openClient>>) => Promise<unknown>) => {
    const client = await openClient({ ...server, database })
    await work(client)
    await client.end()
  }
  const ownerRole = `owner_${randomBytes(6).toString('hex')}`
  await superuser.query(`create role ${ownerRole} login ${attributes}`)
  await superuser.query(`create database ${database} owner ${ownerRole}`)
  return {
    owner: { ...server, user: ownerRole, database },
    database,
    role,
    async [Symbol.asyncDispose]() {
      await superuser.query(`drop database ${database} with (force)`)
      await superuser.query(`drop role if exists ${database}_app`)
      await superuser.query(`drop role ${ownerRole}`)
      await superuser.end()
    },
  }
}
