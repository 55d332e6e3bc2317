import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'

let platform: TestPlatform
let token: string
let server: Server
let issuer: string

/** Starts a server with the discovery document and the keys of an identity provider. */
async function startProvider(): Promise<Server> {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }]
  const provider = createServer((request, response) => {
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
    }
    const body = { '/.well-known/openid-configuration': metadata, '/keys': { keys } }[request.url ?? '']
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  return provider
}

before(async () => {
  server = await startProvider()
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  issuer = `http://${host}`
  platform = await TestPlatform.open({ outboundAllow: [host] })
  token = (await platform.as('administrator')).token
})

after(async () => {
  await platform[Symbol.asyncDispose]()
  server.close()
  server.closeAllConnections()
})

const providers = (args: string[], options: RunOptions = {}) =>
  platform.run(['access', 'providers', ...args], { token, ...options })

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await providers(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  assert.ok(!`${out}${err}`.includes(plantedWord), 'the client secret is never printed')
  return out
}

const secret = `the ${plantedWord} of the client`

describe('access providers', () => {
  test('create reads the client secret from a prompt, and prints the addresses to register', async () => {
    const out = await succeed(
      ['create', 'entra', '--issuer', issuer, '--client-id', 'millwright', '--title', 'Company account'],
      { answers: [secret] },
    )
    assert.match(out, /^ {2}redirect address +http:\S+\/oauth\/callback\/\S+$/m)
    assert.match(out, /^ {2}back-channel logout +http:\S+\/oauth\/backchannel-logout\/\S+$/m)
    assert.match(await succeed(['list']), /^entra +Company account +http:\S+ +millwright +0 +no$/m)
    assert.match(await succeed(['show', 'entra']), /^hasClientSecret +yes$/m)
  })

  test('create rejects an empty secret, a used name, and a host that the installation does not allow', async () => {
    const create = (name: string, address: string) => ['create', name, '--issuer', address, '--client-id', 'millwright']
    assert.equal((await providers(create('other', issuer), { input: '\n' })).code, 2)
    assert.equal((await providers([...create('entra', issuer), '--public'])).code, 5)
    const refused = await providers([...create('other', 'https://login.example.com/plant'), '--public'])
    assert.equal(refused.code, 2)
    assert.match(refused.err, /MILLWRIGHT_OUTBOUND_ALLOW.*\(outbound_not_allowed\)\nNext: /s)
  })

  test('map and unmap change the mappings to roles and access groups', async () => {
    await platform.run(['access', 'groups', 'create', 'line-1'], { token })
    await succeed(['map', 'entra', 'CN=viewers,OU=plant', 'viewer'])
    assert.equal(
      await succeed(['map', 'entra', 'operators', 'operator', '--group', 'line-1']),
      'Users with operators get role operator in line-1 at their next sign-in.\n',
    )
    await succeed(['map', 'entra', 'operators', 'viewer'])
    assert.match(
      await succeed(['show', 'entra']),
      /- value +CN=viewers,OU=plant\n +role +viewer\n +access group +all\n +- value +operators\n +role +operator\n +access group +line-1\n/,
    )
    const again = await providers(['map', 'entra', 'operators', 'viewer'])
    assert.deepEqual([again.code, again.err], [2, 'operators is already mapped to viewer.\n'])
    assert.match(
      await succeed(['unmap', 'entra', 'operators', '--group', 'line-1']),
      /^Mappings removed: 1\. The roles/,
    )
    assert.equal((await providers(['unmap', 'entra', 'operators', '--role', 'operator'])).code, 2)
    assert.match(await succeed(['unmap', 'entra', 'operators']), /^Mappings removed: 1\./)
    assert.equal((await providers(['map', 'entra', 'x', 'no-such-role'])).code, 4)
    assert.equal((await providers(['map', 'entra', 'x', 'viewer', '--group', 'nowhere'])).code, 4)
  })

  test('map refuses the role administrator unless the provider allows it', async () => {
    assert.notEqual((await providers(['map', 'entra', 'admins', 'administrator'])).code, 0)
    await succeed(['update', 'entra', '--administrators', 'allow'])
    await succeed(['map', 'entra', 'admins', 'administrator'])
    await succeed(['unmap', 'entra', 'admins'])
  })

  test('update, set-secret, disable and enable change the provider, and check tests the connection', async () => {
    assert.equal((await providers(['update', 'entra'])).code, 2)
    await succeed(['update', 'entra', '--scope', 'profile', '--scope', 'email', '--groups-claim', 'realm_access.roles'])
    await succeed(['update', 'entra', '--api-audience', 'api://millwright'])
    const read = async () => JSON.parse(await succeed(['show', 'entra', '--json'])).data
    const { scopes, groupsClaim, apiAudience, title } = await read()
    assert.deepEqual(
      [scopes, groupsClaim, apiAudience, title],
      [['profile', 'email'], 'realm_access.roles', 'api://millwright', 'Company account'],
    )
    await succeed(['update', 'entra', '--api-audience', 'none'])
    assert.equal((await read()).apiAudience, null)
    await succeed(['set-secret', 'entra', '--public'])
    assert.equal((await read()).hasClientSecret, false)
    await succeed(['set-secret', 'entra'], { input: `${secret}\n` })
    assert.equal((await read()).hasClientSecret, true)
    await succeed(['disable', 'entra'])
    assert.match(await succeed(['list']), / yes$/m)
    await succeed(['enable', 'entra'])
    assert.match(await succeed(['check', 'entra']), /http:\S+\/authorize/)
  })

  test('check exits with 1 and names the problem when the provider is not reachable', async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
    const { code, err } = await providers(['check', 'entra'])
    assert.equal(code, 1)
    assert.match(err, /^entra is not usable: The provider cannot be reached: .*ECONNREFUSED/)
  })

  test('delete asks for confirmation', async () => {
    assert.equal((await providers(['delete', 'entra'])).code, 2)
    assert.equal((await providers(['delete', 'entra'], { answers: ['n'] })).code, 2)
    await succeed(['delete', 'entra'], { answers: ['y'] })
    assert.equal((await providers(['show', 'entra'])).code, 4)
  })

  test('a user without the permission to manage access cannot list identity providers', async () => {
    const { token: viewer } = await platform.as('viewer')
    assert.equal((await platform.run(['access', 'providers', 'list'], { token: viewer })).code, 3)
  })
})
