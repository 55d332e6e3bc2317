import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastLogin, lockedDevices, refusalSteps, refusalsOf, refusedDevices } from './refusals.ts'

const [before, changed, after, later] = [
  '2026-03-01T00:00:00Z',
  '2026-03-02T00:00:00Z',
  '2026-03-03T00:00:00Z',
  '2026-03-04T00:00:00Z',
]

function credentials(accepted: number, refused: number, refusedWithOther: number, lastFailedTimestamp = after) {
  return { logins: { accepted, refused, refusedWithOther, lastFailedTimestamp }, lastModifiedTimestamp: changed }
}

function refusal(address: string, { at = after, acceptsOther = false, gatewayId = 'g' } = {}) {
  return { gatewayId, address, lastFailedTimestamp: at, acceptsOther }
}

/** Returns credentials that these devices refuse. No device accepts other credentials. */
function refusedBy(...addresses: string[]) {
  return { ...credentials(0, addresses.length, 0), refusals: addresses.map((address) => refusal(address)) }
}

const listed = (rows: readonly unknown[]) => ({ total: rows.length, isSearch: false })

test('separates the devices with and without other credentials that work', () => {
  const { open, withOther, areCurrent } = refusalsOf(credentials(0, 21, 18))
  assert.deepEqual([open, withOther, areCurrent], [3, 18, true])
})

test('counts only the refusals after the last change when the refusals are loaded', () => {
  const old = Array.from({ length: 40 }, (_, index) => refusal(`old-${index}`, { at: before }))
  const corrected = { ...credentials(12, 41, 0), refusals: [refusal('new'), ...old] }
  const { open, isAtLeast, areCurrent } = refusalsOf(corrected)
  assert.deepEqual([open, isAtLeast, areCurrent], [1, false, true])
  assert.deepEqual(lockedDevices([corrected], listed([1])), { count: 1, isAtLeast: false })
})

test('counts no refusal as current if only a device that accepts the credentials now refused them after the change', () => {
  const corrected = { ...credentials(12, 1, 0, after), refusals: [refusal('a', { at: before })] }
  assert.deepEqual(lastLogin(corrected), { kind: 'refusedBefore', at: before })
  assert.equal(lockedDevices([corrected], listed([1])), undefined)
})

test('counts a device that several gateways reach once, with other credentials if one gateway signs in with them', () => {
  const refusals = [
    refusal('a', { gatewayId: 'one' }),
    refusal('a', { gatewayId: 'two' }),
    refusal('b', { gatewayId: 'one' }),
    refusal('b', { gatewayId: 'two', acceptsOther: true }),
  ]
  const { open, withOther } = refusedDevices(refusals)
  assert.deepEqual(
    [open, withOther].map((each) => each.map(({ address }) => address)),
    [['a'], ['b']],
  )
  const rows = [{ ...credentials(0, 2, 1), refusals }]
  assert.equal(lockedDevices(rows, listed(rows))?.count, 1)
})

test('lists a refusal without information about other credentials as one without them', () => {
  const refusals = [{ address: 'a' }] as { address: string; acceptsOther: boolean }[]
  assert.deepEqual(refusedDevices(refusals), { open: refusals, withOther: [] })
})

test('shows the time of the refusals from before the last change, not of the logins after it', () => {
  const row = credentials(12, 1, 0, before)
  const accepted = { ...row, logins: { ...row.logins, lastWorkedTimestamp: after } }
  assert.deepEqual(lastLogin(accepted), { kind: 'refusedBefore', at: before })
})

test('shows the time of the latest refusal of the current values', () => {
  const row = credentials(12, 1, 0, after)
  const accepted = { ...row, logins: { ...row.logins, lastWorkedTimestamp: later } }
  assert.deepEqual(lastLogin(accepted), { kind: 'withoutWorking', at: after })
  assert.deepEqual(lastLogin(credentials(0, 3, 0)), { kind: 'refused', at: after })
  assert.deepEqual(lastLogin(credentials(0, 3, 3)), { kind: 'allWithOther', at: after })
  assert.deepEqual(lastLogin(credentials(0, 3, 1)), { kind: 'someWithOther', at: after })
})

test('does not state that all devices accept other credentials if only those with a current refusal do', () => {
  const refusals = [refusal('new', { acceptsOther: true }), refusal('old', { at: before })]
  assert.equal(lastLogin({ ...credentials(0, 2, 1), refusals }).kind, 'someWithOther')
})

test('shows the time of the latest login with credentials that no device refuses', () => {
  const { lastFailedTimestamp: _, ...logins } = credentials(4, 0, 0).logins
  const worked = (lastWorkedTimestamp: string) =>
    lastLogin({ logins: { ...logins, lastWorkedTimestamp }, lastModifiedTimestamp: changed })
  assert.deepEqual(worked(after), { kind: 'worked', at: after })
  assert.deepEqual(worked(before), { kind: 'workedBefore', at: before })
})

test('offers to change values that all devices refuse', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0), true), ['change', 'devices'])
  assert.deepEqual(refusalSteps(credentials(5, 3, 0), true), ['devices'])
})

test('offers to narrow the IP range if devices accept other credentials', () => {
  assert.deepEqual(refusalSteps(credentials(0, 21, 18), true), ['devices', 'narrow'])
  assert.deepEqual(refusalSteps(credentials(0, 18, 18), true), ['narrow'])
})

test('offers only the devices to a user without the permission to write', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0), false), ['devices'])
})

test('offers no step for refusals from before the last change', () => {
  assert.deepEqual(refusalSteps(credentials(0, 3, 0, before), true), [])
})

test('counts a device once that refuses several credentials, and finds the credentials to correct', () => {
  const [wrong, accepted] = [refusedBy('a', 'b'), credentials(4, 0, 0)]
  const others = ['c', 'd', 'e'].map((address) => refusal(address, { acceptsOther: true }))
  const old = { ...credentials(0, 5, 3), refusals: [refusal('a'), refusal('b'), ...others] }
  const rows = [accepted, wrong, old]
  assert.deepEqual(lockedDevices(rows, listed(rows)), { count: 2, isAtLeast: false, toCorrect: wrong })
})

test('names no credentials to correct if they are not the cause for all devices', () => {
  const rows = [refusedBy('a', 'b'), refusedBy('b', 'c')]
  assert.deepEqual(lockedDevices(rows, listed(rows)), { count: 3, isAtLeast: false })
  const closed = [credentials(0, 5, 5), credentials(0, 3, 0, before)]
  assert.equal(lockedDevices(closed, listed(closed)), undefined)
})

test('returns the smallest possible count if not all refusals are loaded', () => {
  const notLoaded = [credentials(0, 200, 0), refusedBy('a', 'b')]
  assert.deepEqual(lockedDevices(notLoaded, listed(notLoaded)), { count: 2, isAtLeast: true })
  const limited = [{ ...refusedBy('a', 'b'), ...credentials(0, 200, 0) }]
  assert.deepEqual(lockedDevices(limited, listed(limited)), { count: 2, isAtLeast: true })
  assert.equal(refusalsOf(limited[0] ?? assert.fail()).isAtLeast, true)
})

test('returns the smallest possible count if not all credentials are loaded', () => {
  const rows = [refusedBy('a', 'b')]
  assert.deepEqual(lockedDevices(rows, { total: 2, isSearch: false }), { count: 2, isAtLeast: true })
})

test('counts no devices of the credentials that a search finds', () => {
  const rows = [refusedBy('a', 'b')]
  assert.equal(lockedDevices(rows, { total: 1, isSearch: true }), undefined)
})
