import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { defineLink } from './define-link.ts'
import type { Manifest } from './manifest.ts'
import { helpFor, readSettings, UsageError } from './settings.ts'

test('settings are arguments, then the environment, then defaults', () => {
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

test('a link that listens everywhere is known by the name of its machine, unless told otherwise', () => {
  const settings = (given: string[]) => readSettings(['--registry', 'none', ...given], {})
  assert.partialDeepStrictEqual(settings(['--host', '0.0.0.0']), { advertisedHost: hostname() })
  assert.partialDeepStrictEqual(settings(['--host', '::', '--advertised-host', 'a', '--advertised-port', '5']), {
    advertisedHost: 'a',
    advertisedPort: 5,
  })
})

test('wrong settings are refused in one sentence', () => {
  for (const given of [
    ['--port', '70000'],
    ['--registry', 'nowhere'],
    ['--vendors', 'A,b'],
    ['--log-level', 'loud'],
    ['--x'],
  ])
    assert.throws(() => readSettings(given, {}), UsageError)
})

test('help shows every setting with its variable', () => {
  assert.equal(readSettings(['--help'], {}), 'help')
  assert.match(helpFor('Ovens'), /--advertised-host\s+MILLWRIGHT_LINK_ADVERTISED_HOST/)
})

test('a manifest that cannot be right is refused when the link is defined', () => {
  const manifest: Manifest = { id: 'a b', name: ' ', vendor: 'v', version: 'one' }
  const twice = { key: 'k', type: 'text' as const, description: '' }
  assert.throws(
    () => defineLink({ manifest: { ...manifest, filters: [twice, twice] }, discover: () => [] }),
    /"a b".*no name.*"one".*same key/,
  )
})
