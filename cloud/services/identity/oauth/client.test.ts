import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findPublicClient } from './client.ts'

const baseUrl = 'https://plant.example'

/** Known attacks that redirect a browser, together with its code, to another site. */
const hostileRedirects = [
  '',
  'https://evil.example/',
  '//evil.example/',
  '/\\evil.example',
  'https:evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  `${baseUrl}`,
  `${baseUrl}.evil.example/`,
  `${baseUrl}@evil.example/`,
  `${baseUrl}:443/`,
  `${baseUrl}/?next=https://evil.example`,
  `${baseUrl}/#fragment`,
  `${baseUrl}/auth/callback/`,
  `${baseUrl}/auth/callback?x=1`,
  `${baseUrl}/auth/../auth/callback`,
  `${baseUrl}/auth/callback/../../evil`,
  `${baseUrl}/auth%2fcallback`,
  `${baseUrl}//evil.example`,
  `${baseUrl}\\@evil.example/`,
  ` ${baseUrl}/`,
  `${baseUrl}/\t`,
  `${baseUrl}/\r\nset-cookie: x=1`,
  'HTTPS://plant.example/',
  'https://PLANT.example/',
  'http://plant.example/',
  'http://127.0.0.1/callback',
  'http://127.0.0.1:0/callback',
  'http://127.0.0.1:65536/callback',
  'http://127.0.0.1:080/callback',
  'http://127.0.0.1:8123/callback/',
  'http://127.0.0.1:8123/callback?x=1',
  'http://127.0.0.1:8123/callback#x',
  'http://127.0.0.1:8123/other',
  'http://127.0.0.1:8123\\@evil.example/callback',
  'http://user@127.0.0.1:8123/callback',
  'http://127.0.0.1:8123@evil.example/callback',
  'http://127.0.0.1.evil.example:8123/callback',
  'http://localhost:8123/callback',
  'http://127.1:8123/callback',
  'http://0x7f000001:8123/callback',
  'http://2130706433:8123/callback',
  'http://0.0.0.0:8123/callback',
  'http://[::ffff:127.0.0.1]:8123/callback',
  'http://[0:0:0:0:0:0:0:1]:8123/callback',
  'https://127.0.0.1:8123/callback',
  'http://127.0.0.1:8123/callback\n',
]

for (const client of ['console', 'cli']) {
  test(`refuses all known malicious redirect addresses for ${client}`, () => {
    for (const redirectUri of hostileRedirects) {
      assert.equal(findPublicClient(client)?.mayReturnTo(redirectUri, baseUrl), false, redirectUri)
    }
  })
}

test('allows only redirect addresses of the platform for the console', () => {
  const console = findPublicClient('console')
  assert.equal(console?.mayReturnTo(`${baseUrl}/`, baseUrl), true)
  assert.equal(console?.mayReturnTo(`${baseUrl}/auth/callback`, baseUrl), true)
  assert.equal(console?.mayReturnTo('http://127.0.0.1:8123/callback', baseUrl), false)
})

test('allows redirects of the command line to any loopback port, and to no other address', () => {
  const cli = findPublicClient('cli')
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 65_535 }), (port) => {
      assert.equal(cli?.mayReturnTo(`http://127.0.0.1:${port}/callback`, baseUrl), true)
      assert.equal(cli?.mayReturnTo(`http://[::1]:${port}/callback`, baseUrl), true)
    }),
  )
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), (url) => assert.equal(cli?.mayReturnTo(url, baseUrl), false)),
  )
})

test('finds no public client for an unknown client id', () => {
  for (const id of [undefined, '', 'Console', 'constructor', '__proto__', 'su_x']) {
    assert.equal(findPublicClient(id), undefined)
  }
})
