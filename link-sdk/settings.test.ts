import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { test } from 'node:test'
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
