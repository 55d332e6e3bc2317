import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Access, ensureAdministrator } from './first-run.ts'
import { type TestHub, testHub } from './platform/testing/hub.ts'
import { requestToken } from './services/identity/testing.ts'

describe('tenant without users', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millwright-first-'))
  })

  after(() => rm(folder, { recursive: true }))

  const place = () => ({ file: join(folder, 'first-run.json'), baseUrl: 'http://127.0.0.1:1' })
  const written = async (): Promise<Access> => JSON.parse(await readFile(place().file, 'utf8'))

  const isValid = async (hub: TestHub, { clientId, clientSecret }: Access) => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    return (await requestToken(hub, form)).status === 200
  }

  test('creates one administrator when two processes start at the same time, and writes its credentials to a file', async () => {
    await using hub = await testHub()
    await using sibling = await hub.sibling()
    const made = await Promise.all(
      [hub, sibling].map(({ context }) => ensureAdministrator(context.database, hub.tenant, place())),
    )
    assert.equal(made.filter((access) => access !== undefined).length, 1)
    assert.deepEqual(
      await written(),
      made.find((access) => access !== undefined),
    )
    assert.ok(await isValid(hub, await written()))
    assert.equal((await stat(place().file)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(folder), ['first-run.json'])
    assert.equal(await ensureAdministrator(hub.context.database, hub.tenant, place()), undefined)
  })

  test('creates the administrator at the next start when the first start was interrupted before its commit', async () => {
    await using hub = await testHub()
    const { database } = hub.context
    await rm(place().file, { force: true })
    const unobserve = database.observe(({ values }) => {
      if (values.includes('Administrator')) throw new Error('the process ended here')
    })
    await assert.rejects(ensureAdministrator(database, hub.tenant, place()), /ended here/)
    unobserve()
    await assert.rejects(written(), { code: 'ENOENT' }, 'the file is written after the commit')
    assert.ok((await ensureAdministrator(database, hub.tenant, place())) !== undefined)
    assert.ok(await isValid(hub, await written()))
    assert.deepEqual(await readdir(folder), ['first-run.json'])
  })

  test('writes the credentials file at the next start when the first start was interrupted after its commit', async () => {
    await using hub = await testHub()
    const { database } = hub.context
    const made = await ensureAdministrator(database, hub.tenant, place())
    await rename(place().file, `${place().file}.draft`)
    assert.equal(await ensureAdministrator(database, hub.tenant, place()), undefined)
    assert.deepEqual(await written(), made)
    await writeFile(`${place().file}.draft`, JSON.stringify({ ...made, clientId: 'never-committed' }))
    assert.equal(await ensureAdministrator(database, hub.tenant, place()), undefined)
    assert.deepEqual(await written(), made)
    assert.deepEqual(await readdir(folder), ['first-run.json'])
  })
})
