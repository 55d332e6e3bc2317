import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway } from '@millwright/cloud/platform/testing/gateway.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await platform.run(args, { token, ...options })
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

const failing = async (args: string[], options: RunOptions = {}) => platform.run(args, { token, ...options })

const password = `a ${plantedWord} for the gate`

describe('access users', () => {
  test('access users create reads the password from a prompt or standard input and never prints it', async () => {
    const typed = await platform.run(['access', 'users', 'create', 'jane', '--display-name', 'Jane'], {
      token,
      answers: [password, password],
    })
    assert.equal(typed.code, 0, typed.err)
    const piped = await platform.run(['access', 'users', 'create', 'john'], { token, input: `${password}\n` })
    assert.equal(piped.code, 0, piped.err)
    assert.ok(![typed, piped].some(({ out, err }) => `${out}${err}`.includes(plantedWord)))
    assert.match(await succeed(['access', 'users', 'list']), / jane +Jane +no +no$/m)
    const other = await failing(['access', 'users', 'create', 'joan'], { answers: [password, `${password}!`] })
    assert.deepEqual([other.code, other.err.endsWith('The passwords differ.\n')], [2, true])
    assert.equal((await failing(['access', 'users', 'create', 'joan'], { input: '' })).code, 2)
    const weak = await failing(['access', 'users', 'create', 'joan'], { input: 'short' })
    assert.match(weak.err, /\(weak_password\)/)
  })

  test('access commands grant and revoke a role, explain it with why and who, and disable and delete the user', async () => {
    await succeed(['access', 'groups', 'create', 'line-1'])
    assert.match(
      await succeed(['access', 'grant', 'jane', 'operator', '--group', 'line-1']),
      /^jane has role operator in line-1 \(grant /,
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

test('access server-users create and rotate print the secret once, and list never prints it', async () => {
  const made = JSON.parse(await succeed(['access', 'server-users', 'create', 'historian', '--json'])).data
  assert.match(made.clientSecret, /^mws_/)
  const rotated = await succeed(['access', 'server-users', 'rotate', 'historian'])
  assert.match(rotated, /^clientSecret +mws_/m)
  assert.ok(!rotated.includes(made.clientSecret))
  assert.doesNotMatch(await succeed(['access', 'server-users', 'list', '--json']), /mws_/)
  await succeed(['access', 'server-users', 'disable', 'historian'])
  await succeed(['access', 'server-users', 'delete', 'historian'])
})

test('access roles create adds a custom role, and access roles delete rejects a built-in role', async () => {
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

test('audit commands list, show, export and verify audit entries', async () => {
  await platform.hub.settle()
  assert.match(
    await succeed(['audit', 'list', '--action', 'identity.createUser']),
    / identity\.createUser +done +user\//,
  )
  const [entry] = JSON.parse(await succeed(['audit', 'list', '--limit', '1', '--json'])).data
  assert.match(await succeed(['audit', 'show', entry.id]), new RegExp(`^action +${entry.action}$`, 'm'))
  const exported = (await succeed(['audit', 'export'])).trim().split('\n')
  assert.ok(exported.length > 5 && exported.every((line) => JSON.parse(line).hash !== undefined))
  assert.match(
    await succeed(['audit', 'verify']),
    /^Intact\. Checked entries: \d+\. Last entry: \d+, hash [0-9a-f]+\.$/m,
  )
  const all = (await succeed(['audit', 'list', '--all', '--ndjson'])).trim().split('\n')
  assert.equal(new Set(all.map((line) => JSON.parse(line).id)).size, all.length)
})

test('millwright gateway onboard writes a file for its owner only, and revoke and delete remove the gateway', async () => {
  const file = `${platform.folder}/gateway-config.json`
  const made = await succeed(['gateway', 'onboard', 'Hall 4', '--out', file])
  assert.match(made, /^Gateway \S+: .*gateway-config\.json is valid for one enrolment, until /)
  assert.match(
    made,
    /\nOn its machine, in the folder with this file:\nmillwright gateway --config 'gateway-config\.json'\n$/,
  )
  const { chmodSync, statSync, readFileSync } = await import('node:fs')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const { enrolmentToken } = JSON.parse(readFileSync(file, 'utf8'))
  assert.ok(!made.includes(enrolmentToken))
  assert.match((await failing(['gateway', 'onboard', 'Hall 5', '--out', file])).err, /already exists\.\nNext: /)
  const nowhere = await failing(['gateway', 'onboard', 'Hall 5', '--out', `${platform.folder}/nowhere/file.json`])
  assert.match(nowhere.err, /cannot be written \(ENOENT\)/)
  assert.doesNotMatch(await succeed(['gateway', 'list']), /Hall 5/, 'no gateway is created without a config file')
  chmodSync(file, 0o644)
  await succeed(['gateway', 'renew', 'Hall 4', '--out', file])
  assert.equal(statSync(file).mode & 0o777, 0o600, 'an existing file is restricted to its owner')
  assert.match(await succeed(['gateway', 'list']), / Hall 4 +created$/m)
  assert.match(await succeed(['gateway', 'show', 'Hall 4']), /^state +created$/m)
  assert.match((await failing(['discover'])).err, /^There is no gateway yet\.\nNext: register one: /)
  await succeed(['gateway', 'revoke', 'Hall 4'])
  await succeed(['gateway', 'delete', 'Hall 4'])
})

test('access grant assigns a role to a gateway by name, and assets identity-conflicts lists none', async () => {
  await enrolledGateway(platform.hub, await platform.as('administrator'), { name: 'Hall 9' })
  await succeed(['access', 'groups', 'create', 'line-9'])
  assert.match(
    await succeed(['access', 'grant', 'Hall 9', 'operator', '--group', 'line-9']),
    /^Hall 9 has role operator in line-9 \(grant /,
  )
  assert.match(await succeed(['access', 'grants', '--principal', 'Hall 9']), / operator +line-9 /)
  const { err } = await platform.run(['assets', 'identity-conflicts'], { token })
  assert.match(err, /No identity conflicts/)
})

test('millwright schemas add reads a schema from standard input', async () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Pump', type: 'object' }
  await succeed(['schemas', 'add', 'https://example.com/pump.json', '-'], { input: JSON.stringify(schema) })
  assert.match(await succeed(['schemas', 'list']), /^https:\/\/example\.com\/pump\.json +Pump +no$/m)
})

test('millwright events prints the stored events of one type as NDJSON', async () => {
  const lines = (await succeed(['events', '--type', 'identity.user', '--ndjson', '--limit', '3'])).trim().split('\n')
  assert.ok(lines.length > 0 && lines.every((line) => JSON.parse(line).type.startsWith('io.millwright.identity.user.')))
})
