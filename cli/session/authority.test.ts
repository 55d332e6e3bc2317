import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, afterEach, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createLog } from '@millwright/cloud/platform/log.ts'
import { CertificateFiles } from '@millwright/cloud/platform/tls/certificate-files.ts'
import { PairFolder, serverCertificate, testAuthority } from '@millwright/cloud/platform/tls/testing.ts'
import { TestPlatform } from '../testing.ts'

describe('a certificate of a private authority', () => {
  const authority = testAuthority()
  const pair = new PairFolder(serverCertificate(authority, { hosts: ['127.0.0.1'] }))
  const authorityFile = join(pair.path, 'authority.pem')
  let platform: TestPlatform
  let token: string

  before(async () => {
    writeFileSync(authorityFile, authority.certificate)
    const log = createLog({ level: 'fatal' })
    const tls = await CertificateFiles.open({ certFile: pair.certFile, keyFile: pair.keyFile, log })
    platform = await TestPlatform.open({ tls })
    token = (await platform.as('administrator')).token
  })

  afterEach(() => rmSync(join(platform.folder, '.config'), { recursive: true, force: true }))

  after(async () => {
    await platform[Symbol.asyncDispose]()
    pair[Symbol.dispose]()
  })

  type Options = { token?: string; environment?: Record<string, string>; input?: string }

  /** Runs a command in its own process, because accepted authorities and open connections apply to a process. */
  async function run(args: string[], { token, environment, input = '' }: Options = {}) {
    const identity = token === undefined ? {} : { MILLWRIGHT_URL: platform.url, MILLWRIGHT_TOKEN: token }
    const program = fileURLToPath(new URL('../millwright.mjs', import.meta.url))
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH, ...platform.environment, ...identity, ...environment },
    })
    child.stdin.end(input)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, out, err }
  }

  async function program(): Promise<{ clientId: string; clientSecret: string }> {
    const admin = await platform.as('administrator')
    const { data } = await admin.identity.createServerUser({ body: { data: { name: `program-${Math.random()}` } } })
    return data
  }

  test('refuses a platform whose authority is unknown, and prints the next step', async () => {
    const { code, err } = await run(['assets', 'list'], { token })
    assert.equal(code, 6)
    assert.match(err, /The certificate of https:\/\/127\.0\.0\.1:\d+ is not from an authority that this machine trusts/)
    assert.match(err, /millwright login https:\/\/127\.0\.0\.1:\d+ --authority authority\.pem, or set MILLWRIGHT_AUTH/)
  })

  test('accepts a platform whose authority is in MILLWRIGHT_AUTHORITY', async () => {
    const environment = { MILLWRIGHT_AUTHORITY: authorityFile }
    const { code, err } = await run(['assets', 'list'], { token, environment })
    assert.equal(code, 0, err)
  })

  test('accepts a platform whose authority is in the profile, until the user signs out', async () => {
    const { clientId, clientSecret } = await program()
    const login = ['login', platform.url, '--client-id', clientId]
    const refused = await run(login, { input: clientSecret })
    assert.equal(refused.code, 6, refused.err)
    const signedIn = await run([...login, '--authority', authorityFile], { input: clientSecret })
    assert.equal(signedIn.code, 0, signedIn.err)
    const file = join(platform.folder, '.config/millwright/profiles/default.json')
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).authority, authority.certificate)
    const used = await run(['whoami'])
    assert.equal(used.code, 0, used.err)
    const again = await run(login, { input: clientSecret })
    assert.equal(again.code, 0, again.err)
    const signedOut = await run(['logout'])
    assert.deepEqual([signedOut.code, signedOut.err], [0, ''])
  })

  test('refuses a platform with another authority, and reports an invalid authority file', onlyInLongRuns, async () => {
    const other = join(pair.path, 'other.pem')
    writeFileSync(other, testAuthority('Another authority').certificate)
    const refused = await run(['assets', 'list'], { token, environment: { MILLWRIGHT_AUTHORITY: other } })
    assert.equal(refused.code, 6)
    writeFileSync(other, 'text')
    const invalid = await run(['assets', 'list'], { token, environment: { MILLWRIGHT_AUTHORITY: other } })
    assert.equal(invalid.code, 2)
    assert.match(invalid.err, /is not a certificate in PEM format/)
    const missing = await run(['login', platform.url, '--authority', join(pair.path, 'missing.pem')])
    assert.equal(missing.code, 2)
    assert.match(missing.err, /cannot be read \(ENOENT\)/)
  })

  test('refuses a platform at a name that its certificate does not contain', async () => {
    const url = platform.url.replace('127.0.0.1', 'localhost')
    const environment = { MILLWRIGHT_AUTHORITY: authorityFile, MILLWRIGHT_URL: url }
    const { code, err } = await run(['assets', 'list'], { token, environment })
    assert.equal(code, 6)
    assert.match(err, /is for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)/)
  })
})
