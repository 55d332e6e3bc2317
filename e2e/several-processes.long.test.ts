import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { type EmbeddedPostgres, startPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { quick } from '@millwright/cloud/platform/postgres/testing.ts'
import { runCommand } from './command.ts'
import { bearer, callerOf, type Platform, temporaryFolder, tokenOf, until, whenReady } from './platform.ts'
import { millwright, type Program } from './program.ts'
import { withinLimit } from './time-limit.ts'

/** A random loopback address that no other program uses, so that a free port of this address stays free. */
const host = `127.${1 + randomInt(250)}.${1 + randomInt(250)}.${1 + randomInt(250)}`

/**
 * These tests run two processes with one database. Each process runs half of the services and calls the other process
 * for the rest.
 */
describe('services in two processes', () => {
  const folder = temporaryFolder()
  const home = join(folder.path, 'home')
  const programs: Program[] = []
  let postgres: EmbeddedPostgres
  let environment: Record<string, string>
  /** The process that runs identity and authorization. */
  let people: Platform
  /** The process that runs audit and events. */
  let records: Platform

  before(async () => {
    postgres = await startPostgres({ home: join(folder.path, 'database'), settings: quick })
    await createDatabase(postgres)
    const [peoplePort, recordsPort] = await freePorts()
    const peopleUrl = `http://${host}:${peoplePort}`
    const recordsUrl = `http://${host}:${recordsPort}`
    environment = {
      DATABASE_URL: `postgres://millwright@/plant?host=${encodeURIComponent(postgres.connection.host)}`,
      MILLWRIGHT_BASE_URL: peopleUrl,
      MILLWRIGHT_HOST: host,
    }
    const peersOf = (names: string[], url: string) => names.map((name) => `${name}=${url}`).join(',')
    const begin = (args: string[]) => {
      const program = millwright(['cloud', ...args], { home, environment })
      programs.push(program)
      return whenReady(program, home)
    }
    ;[people, records] = await Promise.all([
      begin([
        ...['--services', 'identity,authorization', '--port', `${peoplePort}`],
        ...['--peers', peersOf(['audit', 'events'], recordsUrl)],
      ]),
      begin([
        ...['--services', 'audit,events', '--port', `${recordsPort}`],
        ...['--peers', peersOf(['identity', 'authorization'], peopleUrl)],
      ]),
    ])
    people = { ...people, baseUrl: peopleUrl }
    records = { ...records, baseUrl: recordsUrl }
  })

  after(async () => {
    await Promise.all(programs.map((program) => program[Symbol.asyncDispose]()))
    await postgres.stop()
    folder[Symbol.dispose]()
  })

  test('returns the same response from each of two processes', async () => {
    for (const asked of [people, records]) {
      const caller = await callerOf(asked)
      const { name } = await caller.identity.userInfo({})
      assert.equal(name, 'first-run')
      const { data } = await caller.authorization.createAccessGroup({ body: { data: { name: `by ${asked.baseUrl}` } } })
      const other = await callerOf(asked === people ? records : people, caller.token)
      assert.deepEqual((await other.authorization.readAccessGroup({ params: { id: data.id } })).data, data)
      const { data: entries } = await other.audit.listEntries({ query: { target: `access-group/${data.id}` } })
      assert.deepEqual(
        entries.map(({ action, outcome }) => ({ action, outcome })),
        [{ action: 'authorization.createAccessGroup', outcome: 'done' }],
      )
    }
  })

  test('audits the client address of a forwarded request, and ignores addresses in headers of the client', async () => {
    const token = await tokenOf(records.baseUrl, people.access)
    const { status, body } = await postFrom('127.0.0.2', `${records.baseUrl}/authorization/v1/access-groups`, {
      headers: { ...bearer(token), 'x-millwright-client': '203.0.113.9', 'x-forwarded-for': '203.0.113.9' },
      data: { name: 'from afar' },
    })
    assert.equal(status, 201)
    const target = `access-group/${JSON.parse(body).data.id}`
    const { data } = await (await callerOf(people)).audit.listEntries({ query: { target } })
    assert.deepEqual(
      data.map(({ address }) => address),
      ['127.0.0.2'],
    )
  })

  test('refuses requests in one process after the account was disabled in the other process', async () => {
    const admin = await callerOf(people)
    const { data: made } = await admin.identity.createServerUser({ body: { data: { name: 'historian' } } })
    await admin.authorization.createGrant({ body: { data: { principal: made.id, role: 'administrator' } } })
    const historian = await callerOf(records, await tokenOf(records.baseUrl, made))
    await until('it may read', () => isAllowed(() => historian.audit.listEntries({})))
    await admin.identity.updateServerUser({ params: { id: made.id }, body: { data: { disabled: true } } })
    await until('it is refused', async () => !(await isAllowed(() => historian.audit.listEntries({}))))
  })

  test('runs a command on the database that two processes use', async () => {
    const { code, stdout } = await runCommand(['tenants', 'list', '--json'], { home, environment })
    assert.equal(code, 0)
    assert.deepEqual(
      JSON.parse(stdout).map(({ name }: { name: string }) => name),
      ['default'],
    )
  })

  test('reports the services of a stopped process as unavailable, and continues in the other process', async () => {
    const caller = await callerOf(records)
    assert.equal((await people.stop()).code, 0)
    const refused = await caller.authorization.listAccessGroups({}).catch((error: unknown) => error)
    assert.ok(refused instanceof Problem)
    assert.equal(refused.code, 'unavailable')
    assert.ok((await caller.audit.listEntries({})).data.length > 0)
  })
})

async function createDatabase({ connection }: EmbeddedPostgres): Promise<void> {
  const client = await openClient(connection)
  try {
    await client.query('create database plant')
  } finally {
    await client.end()
  }
}

/** Returns two free ports, because each process needs the port of the other process before it listens. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer().listen(0, host), createServer().listen(0, host)] as const
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const [first, second] = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return [first ?? 0, second ?? 0]
}

async function isAllowed(attempt: () => Promise<unknown>): Promise<boolean> {
  return attempt().then(
    () => true,
    () => false,
  )
}

type Sent = { headers: Record<string, string>; data: unknown }

/** Sends a request from another local address of this machine. */
async function postFrom(localAddress: string, url: string, { headers, data }: Sent) {
  const sent = request(url, {
    method: 'POST',
    localAddress,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  sent.end(JSON.stringify({ data }))
  const [response] = await withinLimit('the response arrives', once(sent, 'response'))
  return { status: response.statusCode as number, body: await text(response) }
}
