import assert from 'node:assert/strict'
import { test } from 'node:test'
import { absoluteEnd, isLive, sessionWindow, tokenEnd } from './session-limits.ts'

const minute = 60_000
const hour = 60 * minute
const start = Date.parse('2026-03-01T08:00:00.000Z')
const at = (ms: number) => new Date(start + ms).toISOString()

/** A session that started at `start`, was last used an hour later and expires after 24 hours. */
const session = { createdAt: at(0), lastUsedAt: at(hour), expiresAt: at(24 * hour) }

const cases = [
  ['is live before both limits', { idleMinutes: 60, absoluteHours: 24 }, 2 * hour - 1, true],
  ['ends at the idle limit after the last use', { idleMinutes: 60, absoluteHours: 24 }, 2 * hour, false],
  ['is live up to the absolute limit', { idleMinutes: 43_200, absoluteHours: 8 }, 8 * hour - 1, true],
  ['ends at the absolute limit of a shorter policy', { idleMinutes: 43_200, absoluteHours: 8 }, 8 * hour, false],
  ['ends at its expiry under a longer policy', { idleMinutes: 43_200, absoluteHours: 8_760 }, 24 * hour, false],
] as const

for (const [title, policy, after, expected] of cases) {
  test(`a session ${title}`, () => {
    assert.equal(isLive(session, policy, start + after), expected)
    const { now, createdAfter, usedAfter } = sessionWindow(policy, start + after)
    const isInWindow = session.expiresAt > now && session.createdAt > createdAfter && session.lastUsedAt > usedAfter
    assert.equal(isInWindow, expected, 'lists use the same rule')
  })
}

test('an access token ends at the idle limit or with its session, whichever is earlier', () => {
  const policy = { idleMinutes: 30, absoluteHours: 8 }
  assert.equal(absoluteEnd(session, policy), start + 8 * hour)
  assert.equal(tokenEnd(session, policy, start + hour).toISOString(), at(hour + 30 * minute))
  assert.equal(tokenEnd(session, policy, start + 8 * hour - minute).toISOString(), at(8 * hour))
})
