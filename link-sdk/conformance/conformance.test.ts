import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DiscoveryResult, defineLink, type LinkDefinition } from '../define-link.ts'
import { LinkError } from '../link-error.ts'
import { startLink } from '../start-link.ts'
import type { CheckResult } from './check.ts'
import { checkLink } from './suite.ts'

const manifest = { id: 'test.links.bad', name: 'Bad', vendor: 'Test', version: '1.0.0' }

async function failuresOf(link: LinkDefinition): Promise<CheckResult[]> {
  await using running = await startLink(link, { logLevel: 'silent' })
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint, withinMs: 60_000 }))
  return results.filter(({ outcome }) => outcome === 'fail')
}

test('checkLink fails with a hint for devices without a unique identifier', async () => {
  const failures = await failuresOf(defineLink({ manifest, discover: () => [{ asset: { name: 'nobody' } }] }))
  assert.deepEqual(
    failures.map(({ sentence }) => sentence),
    ['Every device has a unique identifier'],
  )
  assert.match(failures[0]?.hint ?? '', /asset_identifiers/)
})

test('checkLink fails for errors that name no device and for failed discoveries', async () => {
  const placeless = await failuresOf(
    defineLink({ manifest, discover: () => [{ error: new LinkError('UNAVAILABLE', 'somewhere') }] }),
  )
  assert.deepEqual(
    placeless.map(({ sentence }) => sentence),
    ['Every error has a description and a device'],
  )
  const broken = await failuresOf(
    defineLink({
      manifest,
      discover: () => {
        throw new Error('broken')
      },
    }),
  )
  assert.ok(broken.some(({ sentence }) => sentence === 'A discovery ends with OK'))
})

test('checkLink fails when a protected device accepts any credentials, or when its error contains them', async () => {
  const asset = { asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: '02:00:5E:00:00:01' }] }
  const address = { ip_address: '10.0.0.1' }
  const schema = { type: 'object', properties: { password: { type: 'string' } } }
  const protectedLink = (open: (password: string) => DiscoveryResult) =>
    defineLink({
      manifest: { ...manifest, credentialSchemas: [{ uri: 'urn:test', schema }] },
      discover: ({ targets: [target] }) =>
        target === undefined
          ? [{ error: new LinkError('UNAUTHENTICATED', 'who?'), address }]
          : [open(String(target.credentials[0]?.fields.password))],
    })
  const secretless = 'The credential schemas of the link mark secret fields'
  const refusing = 'A protected device rejects wrong credentials, and the error does not repeat them'
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

test('checkLink stops when the link is not reachable', async () => {
  const results = await Array.fromAsync(checkLink({ endpoint: '127.0.0.1:1', withinMs: 2_000 }))
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['fail'],
  )
})
