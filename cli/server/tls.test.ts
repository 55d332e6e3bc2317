import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { serverCertificate, testAuthority } from '@millwright/cloud/platform/tls/testing.ts'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

describe('millwright tls create', () => {
  let home: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'millwright-tls-create-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  async function create(...args: string[]) {
    const { terminal, printed } = testTerminal({ environment: { MILLWRIGHT_HOME: home, HOME: home } })
    const code = await run(['tls', 'create', ...args], terminal)
    return { code, ...printed }
  }

  const path = (name: string) => join(home, 'tls', name)
  const read = (name: string) => readFileSync(path(name), 'utf8')
  const certificate = () => new X509Certificate(read('server.pem'))
  const authority = () => new X509Certificate(read('authority.pem'))
  const daysLeft = ({ validTo }: X509Certificate) => Math.round((Date.parse(validTo) - Date.now()) / 86_400_000)

  test('tls create creates an authority and a certificate for this machine, and prints how to use them', async () => {
    const { code, out, err } = await create()
    assert.deepEqual([code, err], [0, ''])
    assert.ok(certificate().checkIssued(authority()) && certificate().verify(authority().publicKey))
    assert.deepEqual([authority().ca, certificate().ca], [true, false])
    for (const name of ['localhost', 'device.remote.localhost', hostname().toLowerCase()])
      assert.ok(certificate().checkHost(name) !== undefined, name)
    for (const address of ['127.0.0.1', '::1']) assert.ok(certificate().checkIP(address) !== undefined, address)
    assert.equal(daysLeft(certificate()), 397)
    for (const [name, mode] of [
      ['authority-key.pem', 0o600],
      ['server-key.pem', 0o600],
      ['authority.pem', 0o644],
      ['server.pem', 0o644],
    ] as const)
      assert.equal(statSync(path(name)).mode & 0o777, mode, name)
    assert.match(out, new RegExp(`MILLWRIGHT_TLS_CERT=${path('server.pem')}\n`))
    assert.match(out, new RegExp(`MILLWRIGHT_TLS_KEY=${path('server-key.pem')}\n`))
    assert.ok(out.includes(certificate().fingerprint256))
    assert.match(out, /millwright login https:\/\/localhost:8080 --authority /)
    assert.ok(!out.includes('PRIVATE KEY'))
  })

  test('tls create renews the certificate with the same authority and the same names', async () => {
    await create('--host', 'plant.example.com', '--host', '10.20.0.5', '--host', 'fd00::5', '--days', '30')
    const [former, formerAuthority] = [certificate(), read('authority.pem')]
    const { code, out } = await create('--days', '90')
    assert.equal(code, 0)
    assert.match(out, /^Renewed the certificate for plant\.example\.com, 10\.20\.0\.5, fd00::5, valid until/)
    assert.equal(read('authority.pem'), formerAuthority)
    assert.equal(certificate().subjectAltName, former.subjectAltName)
    assert.notEqual(certificate().serialNumber, former.serialNumber)
    assert.equal(daysLeft(certificate()), 90)
    assert.deepEqual(readdirSync(join(home, 'tls')).toSorted(), [
      'authority-key.pem',
      'authority.pem',
      'server-key.pem',
      'server.pem',
    ])
  })

  test('tls create never replaces files of other programs', async () => {
    const foreign = testAuthority('Authority of the company')
    const pair = serverCertificate(foreign)
    const refuses = async (files: Record<string, string>, named: string) => {
      rmSync(join(home, 'tls'), { recursive: true, force: true })
      mkdirSync(join(home, 'tls'))
      for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text)
      const { code, err } = await create()
      assert.equal(code, 1)
      assert.ok(err.includes(`${path(named)} was not created by this command`), err)
      for (const [name, text] of Object.entries(files)) assert.equal(read(name), text)
      assert.deepEqual(readdirSync(join(home, 'tls')).toSorted(), Object.keys(files).toSorted())
    }
    await refuses({ 'authority.pem': foreign.certificate, 'authority-key.pem': foreign.key }, 'authority.pem')
    await refuses({ 'authority.pem': foreign.certificate }, 'authority.pem')
    await refuses({ 'server.pem': pair.certificate, 'server-key.pem': pair.key }, 'server.pem')
    await refuses({ 'server-key.pem': pair.key }, 'server-key.pem')
    await refuses({ 'server.pem': 'text' }, 'server.pem')
  })

  test('tls create refuses invalid names and validities', async () => {
    for (const args of [
      ['--host', 'not a name'],
      ['--host', 'https://plant.example.com'],
      ['--days', '0'],
      ['--days', '826'],
      ['--days', 'x'],
    ]) {
      const { code, err } = await create(...args)
      assert.equal(code, 2, err)
    }
    assert.deepEqual(readdirSync(home), [])
  })

  test('tls create reports a folder that cannot be used', async () => {
    writeFileSync(join(home, 'tls'), 'a file')
    const { code, err } = await create()
    assert.equal(code, 1)
    assert.match(err, /authority(?:-key)?\.pem cannot be read \(ENOTDIR\)/)
  })
})
