import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evidenceLimitHours } from '@millwright/api/evidence.ts'
import type { Asset } from './asset.ts'
import { hasRecentEvidence } from './reachability.ts'

const seenAt = (state_timestamp: string): Asset => ({
  id: '1',
  reachability_state: { state_value: 'reached', state_timestamp },
})

test('evidence is recent up to the limit, and not after it', () => {
  const asset = seenAt('2026-05-20T10:00:00Z')
  const limit = Date.parse('2026-05-20T10:00:00Z') + evidenceLimitHours * 3_600_000
  assert.deepEqual([hasRecentEvidence(asset, limit), hasRecentEvidence(asset, limit + 1)], [true, false])
})

test('a state without a time does not count as recent evidence', () => {
  assert.equal(hasRecentEvidence({ id: '1' } as Asset), false)
})
