import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway } from '@millwright/cloud/platform/testing/gateway.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { TestPlatform, type Typed } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(given: string[], typed: Typed = {}): Promise<string> {
  const { code, out, err } = await platform.run(given, { token, ...typed })
  assert.equal(code, 0, `${given.join(' ')}: ${err}`)
  return out
}

const failing = async (given: string[], typed: Typed = {}) => platform.run(given, { token, ...typed })

const password = `a ${plantedWord} for the door`

describe('people', () => {
  test('get a password that is typed unseen or comes from a pipe, and never shows', async () => {
    const typed = await platform.run(['access', 'users', 'create', 'jane', '--display-name', 'Jane'], {
      token,
      answers: [password, password],
    })
    assert.equal(typed.code, 0, typed.err)
    const piped = await platform.run(['access', 'users', 'create', 'john'], { token, input: `${password}\n` })
    assert.equal(piped.code, 0, piped.err)
    assert.ok(![typed, piped].some(({ out, err }) => `${out}${err}`.includes(plantedWord)))
    assert.match(await succeed(['access', 'users', 'list']), / jane +Jane +no$/m)
    const other = await failing(['access', 'users', 'create', 'joan'], { answers: [password, `${password}!`] })
    assert.deepEqual([other.code, other.err.endsWith('They are not the same.\n')], [2, true])
    assert.equal((await failing(['access', 'users', 'create', 'joan'], { input: '' })).code, 2)
    const weak = await failing(['access', 'users', 'create', 'joan'], { input: 'short' })
    assert.match(weak.err, /\(weak_password\)/)
  })

  test('are given roles, asked about, disabled and deleted', async () => {
    await succeed(['access', 'groups', 'create', 'line-1'])
    assert.match(
      await succeed(['access', 'grant', 'jane', 'operator', '--group', 'line-1']),
      /^jane is operator in line-1 \(grant /,
    )
    assert.match(
      await succeed(['access', 'why', 'inventory_write_asset_data', 'jane', '--group', 'line-1']),
      /^Yes: .*operator/,
    )
    assert.match(await succeed(['access', 'why', 'glb_audit_read', 'jane']), /^No: /)
    assert.match(
      await succeed(['access', 'who', 'inventory_write_asset_data', '--group', 'line-1']),
      / jane +operator$/m,
    )
    const [grant] = JSON.parse(await succeed(['access', 'grants', '--principal', 'jane', '--json'])).data
    await succeed(['access', 'revoke', grant.id])
    assert.equal((await failing(['access', 'grant', 'nobody', 'viewer'])).code, 4)
    assert.equal((await failing(['access', 'why', 'fly'])).code, 2)
    await succeed(['access', 'users', 'disable', 'jane'])
    assert.match(await succeed(['access', 'users', 'show', 'jane']), /^disabled +yes$/m)
    await succeed(['access', 'users', 'set-password', 'jane'], { input: `${password} again` })
    await succeed(['access', 'users', 'enable', 'jane'])
    await succeed(['access', 'users', 'delete', 'jane'])
    await succeed(['access', 'groups', 'rename', 'line-1', 'line-1a'])
    await succeed(['access', 'groups', 'delete', 'line-1a'])
  })
})

test('programs get a secret that is printed once', async () => {
  const made = JSON.parse(await succeed(['access', 'server-users', 'create', 'historian', '--json'])).data
  assert.match(made.clientSecret, /^mws_/)
  const rotated = await succeed(['access', 'server-users', 'rotate', 'historian'])
  assert.match(rotated, /^clientSecret +mws_/m)
  assert.ok(!rotated.includes(made.clientSecret))
  assert.doesNotMatch(await succeed(['access', 'server-users', 'list', '--json']), /mws_/)
  await succeed(['access', 'server-users', 'disable', 'historian'])
  await succeed(['access', 'server-users', 'delete', 'historian'])
})

test('roles are made of permissions, and used ones stay', async () => {
  await succeed([
    'access',
    'roles',
    'create',
    'looker',
    '--permission',
    'inventory_read_asset_data',
    '--title',
    'Looks',
  ])
  assert.match(await succeed(['access', 'roles', 'list']), /^looker +Looks +no +1$/m)
  assert.match(await succeed(['access', 'roles', 'show', 'looker']), /^permissions +inventory_read_asset_data$/m)
  assert.match(await succeed(['access', 'permissions']), /^glb_audit_read +global +/m)
  assert.equal((await failing(['access', 'roles', 'delete', 'viewer'])).code, 5)
  await succeed(['access', 'roles', 'delete', 'looker'])
})

test('the trail tells what was done, can be exported, and is whole', async () => {
  await platform.hub.settle()
  assert.match(
    await succeed(['audit', 'list', '--action', 'identity.createUser']),
    / identity\.createUser +done +user\//,
  )
  const [entry] = JSON.parse(await succeed(['audit', 'list', '--limit', '1', '--json'])).data
  assert.match(await succeed(['audit', 'show', entry.id]), new RegExp(`^action +${entry.action}$`, 'm'))
  const exported = (await succeed(['audit', 'export'])).trim().split('\n')
  assert.ok(exported.length > 5 && exported.every((line) => JSON.parse(line).hash !== undefined))
  assert.match(await succeed(['audit', 'verify']), /^Intact: \d+ entries; /)
  const all = (await succeed(['audit', 'list', '--all', '--ndjson'])).trim().split('\n')
  assert.equal(new Set(all.map((line) => JSON.parse(line).id)).size, all.length)
})

test('gateways are brought in with a file that only its owner reads, and sent away', async () => {
  const file = `${platform.folder}/gateway-config.json`
  const made = await succeed(['gateway', 'onboard', 'Hall 4', '--out', file])
  assert.match(made, /^Gateway \S+: .*gateway-config\.json lets it in once, until /)
  const { chmodSync, statSync, readFileSync } = await import('node:fs')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const { enrolmentToken } = JSON.parse(readFileSync(file, 'utf8'))
  assert.ok(!made.includes(enrolmentToken))
  assert.match((await failing(['gateway', 'onboard', 'Hall 5', '--out', file])).err, /is there already\.\nNext: /)
  const nowhere = await failing(['gateway', 'onboard', 'Hall 5', '--out', `${platform.folder}/nowhere/file.json`])
  assert.match(nowhere.err, /cannot be written \(ENOENT\)/)
  assert.doesNotMatch(await succeed(['gateway', 'list']), /Hall 5/, 'nothing is made that nobody could bring in')
  chmodSync(file, 0o644)
  await succeed(['gateway', 'renew', 'Hall 4', '--out', file])
  assert.equal(statSync(file).mode & 0o777, 0o600, 'a file that was there is closed')
  assert.match(await succeed(['gateway', 'list']), / Hall 4 +created$/m)
  assert.match(await succeed(['gateway', 'show', 'Hall 4']), /^state +created$/m)
  assert.match((await failing(['discover'])).err, /^There is no gateway yet\.\nNext: bring one in: /)
  await succeed(['gateway', 'revoke', 'Hall 4'])
  await succeed(['gateway', 'delete', 'Hall 4'])
})

test('grants a gateway a role by its name, and lists identity conflicts', async () => {
  await enrolledGateway(platform.hub, await platform.as('administrator'), { name: 'Hall 9' })
  await succeed(['access', 'groups', 'create', 'line-9'])
  assert.match(
    await succeed(['access', 'grant', 'Hall 9', 'operator', '--group', 'line-9']),
    /^Hall 9 is operator in line-9 \(grant /,
  )
  assert.match(await succeed(['access', 'grants', '--principal', 'Hall 9']), / operator +line-9 /)
  const { err } = await platform.run(['assets', 'identity-conflicts'], { token })
  assert.match(err, /There are no identity conflicts/)
})

test('schemas are added from a file', async () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Pump', type: 'object' }
  await succeed(['schemas', 'add', 'https://example.com/pump.json', '-'], { input: JSON.stringify(schema) })
  assert.match(await succeed(['schemas', 'list']), /^https:\/\/example\.com\/pump\.json +Pump +no$/m)
})

test('events are told as they are kept', async () => {
  const lines = (await succeed(['events', '--type', 'identity.user', '--ndjson', '--limit', '3'])).trim().split('\n')
  assert.ok(lines.length > 0 && lines.every((line) => JSON.parse(line).type.startsWith('io.millwright.identity.user.')))
})
