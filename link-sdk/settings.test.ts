import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { createAuthority, createCertificate } from '@millwright/api/certificates.ts'
import { defineLink } from './define-link.ts'
import type { Manifest } from './manifest.ts'
import { helpFor, readSettings, UsageError } from './settings.ts'

test('readSettings uses arguments first, then the environment, then defaults', () => {
  assert.deepEqual(
    readSettings(['--port', '8081'], { MILLWRIGHT_LINK_PORT: '9', MILLWRIGHT_LINK_REGISTRY: 'gw:50051' }),
    {
      host: '127.0.0.1',
      port: 8081,
      vendors: ['millwright', 'siemens'],
      logLevel: 'info',
      registry: 'gw:50051',
    },
  )
})

test('readSettings returns the absolute path of the home', () => {
  assert.partialDeepStrictEqual(readSettings(['--home', 'files'], {}), { home: resolve('files') })
  assert.partialDeepStrictEqual(readSettings([], { MILLWRIGHT_LINK_HOME: '/srv/link' }), { home: '/srv/link' })
})

test('readSettings advertises the host name for a link that listens on all addresses', () => {
  const settings = (args: string[]) => readSettings(['--registry', 'none', ...args], {})
  assert.partialDeepStrictEqual(settings(['--host', '0.0.0.0']), { advertisedHost: hostname() })
  assert.partialDeepStrictEqual(settings(['--host', '::', '--advertised-host', 'a', '--advertised-port', '5']), {
    advertisedHost: 'a',
    advertisedPort: 5,
  })
})

test('readSettings rejects invalid settings in one sentence', () => {
  for (const args of [
    ['--port', '70000'],
    ['--registry', 'nowhere'],
    ['--vendors', 'A,b'],
    ['--log-level', 'loud'],
    ['--x'],
  ])
    assert.throws(() => readSettings(args, {}), UsageError)
})

test('readSettings reads the certificate of the link, and rejects files that do not belong together', () => {
  const folder = mkdtempSync(join(tmpdir(), 'link-tls-'))
  try {
    const to = new Date(Date.now() + 86_400_000)
    const from = new Date(Date.now() - 5 * 86_400_000)
    const newAuthority = () => createAuthority({ subject: { name: 'Gateway' }, validity: { from, to } })
    const [authority, otherAuthority] = [newAuthority(), newAuthority()]
    const create = (unit: string, end = to) =>
      createCertificate({
        ...{ authority, subject: { name: 'ovens', unit }, hosts: ['127.0.0.1'] },
        ...{ usages: ['server', 'client'], validity: { from, to: end } },
      })
    const [link, other] = [create('link'), create('link')]
    const read = (certificate: string, key: string, trusted: string) => {
      const texts = { cert: certificate, key, authority: trusted }
      const args = Object.entries(texts).flatMap(([name, text]) => {
        writeFileSync(join(folder, name), text)
        return [`--tls-${name}`, join(folder, name)]
      })
      return readSettings(args, {})
    }
    const tls = { certificate: link.certificate, key: link.key, authority: authority.certificate }
    assert.partialDeepStrictEqual(read(link.certificate, link.key, authority.certificate), { tls })
    const [agent, expired] = [create('agent'), create('link', new Date(Date.now() - 1_000))]
    for (const [certificate, key, trusted, message] of [
      [link.certificate, other.key, authority.certificate, /key does not belong/],
      [link.certificate, link.key, otherAuthority.certificate, /authority did not sign/],
      [agent.certificate, agent.key, authority.certificate, /not for a link/],
      [expired.certificate, expired.key, authority.certificate, /expired at/],
      ['nothing', link.key, authority.certificate, /cannot be used/],
    ] as const)
      assert.throws(
        () => read(certificate, key, trusted),
        (error) => error instanceof UsageError && message.test(error.message),
      )
    assert.throws(() => readSettings(['--tls-cert', join(folder, 'cert')], {}), /must be set together/)
    const missing = ['--tls-cert', join(folder, 'none'), '--tls-key', join(folder, 'key')]
    assert.throws(() => readSettings([...missing, '--tls-authority', folder], {}), /none cannot be read \(ENOENT\)/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('helpFor lists every setting with its environment variable', () => {
  assert.equal(readSettings(['--help'], {}), 'help')
  assert.match(helpFor('Ovens'), /--advertised-host\s+MILLWRIGHT_LINK_ADVERTISED_HOST/)
})

test('defineLink rejects an invalid manifest', () => {
  const manifest: Manifest = { id: 'a b', name: ' ', vendor: 'v', version: 'one' }
  const twice = { key: 'k', type: 'text' as const, description: '' }
  assert.throws(
    () => defineLink({ manifest: { ...manifest, filters: [twice, twice] }, discover: () => [] }),
    /"a b".*no name.*"one".*same key/,
  )
})
