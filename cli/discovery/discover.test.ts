import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AssetLink } from '@millwright/api/discovery.ts'
import { noUsableLink } from './discover.ts'

test('names each link with the reason why it cannot scan', () => {
  const link = (assetLinkId: string, about: Partial<AssetLink>) => ({ assetLinkId, ...about }) as AssetLink
  const message = noUsableLink([
    link('plant', { reachable: false, problem: 'The gateway was revoked' }),
    link('ovens', { compatible: false, incompatibility: 'The gateway has version 0.3.9', problem: 'slow' }),
    link('pumps', { reachable: false }),
  ])
  assert.equal(
    message,
    [
      'The gateway has no link that answers.',
      '  plant: The gateway was revoked',
      '  ovens: The gateway has version 0.3.9',
      '  pumps: does not answer',
    ].join('\n'),
  )
  assert.equal(noUsableLink([]), 'The gateway has no link that answers.')
})
