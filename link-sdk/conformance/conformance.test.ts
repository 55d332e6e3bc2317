import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineLink, type Found, type LinkDefinition } from '../define-link.ts'
import { LinkError } from '../link-error.ts'
import { startLink } from '../start-link.ts'
import type { CheckResult } from './check.ts'
import { checkLink } from './suite.ts'

const manifest = { id: 'test.links.bad', name: 'Bad', vendor: 'Test', version: '1.0.0' }

async function failuresOf(link: LinkDefinition): Promise<CheckResult[]> {
  await using running = await startLink(link, { logLevel: 'silent' })
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, withinMs: 5_000 }))
  return results.filter(({ outcome }) => outcome === 'fail')
}

test('the suite finds devices that cannot be told apart, and says what to do', async () => {
  const failures = await failuresOf(defineLink({ manifest, discover: () => [{ asset: { name: 'nobody' } }] }))
  assert.deepEqual(
    failures.map(({ sentence }) => sentence),
    ['Every device can be told from all others'],
  )
  assert.match(failures[0]?.hint ?? '', /asset_identifiers/)
})

test('the suite finds errors without a place and discoveries that break', async () => {
  const placeless = await failuresOf(
    defineLink({ manifest, discover: () => [{ error: new LinkError('UNAVAILABLE', 'somewhere') }] }),
  )
  assert.deepEqual(
    placeless.map(({ sentence }) => sentence),
    ['Every error says what happened, and where'],
  )
  const broken = await failuresOf(
    defineLink({
      manifest,
      discover: () => {
        throw new Error('broken')
      },
    }),
  )
  assert.ok(broken.some(({ sentence }) => sentence === 'It discovers, and ends'))
})

test('the suite finds a protected device that opens to anybody, and one that repeats what it was told', async () => {
  const asset = { asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:5E:00:00:01' }] }
  const address = { ip_address: '10.0.0.1' }
  const schema = { type: 'object', properties: { password: { type: 'string' } } }
  const protectedLink = (open: (password: string) => Found) =>
    defineLink({
      manifest: { ...manifest, credentialSchemas: [{ uri: 'urn:test', schema }] },
      discover: ({ targets: [target] }) =>
        target === undefined
          ? [{ error: new LinkError('UNAUTHENTICATED', 'who?'), address }]
          : [open(String(target.credentials[0]?.fields.password))],
    })
  const secretless = 'Its credential schemas say what is secret'
  const refusing = 'A protected device refuses credentials that are wrong, and does not repeat them'
  const open = await failuresOf(protectedLink(() => ({ asset, address })))
  assert.deepEqual(
    open.map(({ sentence }) => sentence),
    [secretless, refusing],
  )
  const telling = await failuresOf(
    protectedLink((password) => ({ error: new LinkError('UNAUTHENTICATED', `not ${password}`), address })),
  )
  assert.match(telling.at(-1)?.detail ?? '', /repeats the credentials/)
})

test('the suite says so when nobody answers, and stops there', async () => {
  const results = await Array.fromAsync(checkLink({ endpoint: '127.0.0.1:1', withinMs: 2_000 }))
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['fail'],
  )
})
