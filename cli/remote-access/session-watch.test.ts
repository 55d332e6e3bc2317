import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { connect } from '../session/platform-command.ts'
import { testTerminal } from '../testing.ts'
import { durationText, endError, SessionWatch } from './session-watch.ts'
import { minutesFromNow, RemotePeer, sessionId, until } from './testing.ts'

test('a watch warns before the end of a session, reports an extension, an outage and the end', async () => {
  await using peer = await RemotePeer.open()
  const environment = { HOME: '/nonexistent', MILLWRIGHT_URL: peer.url, MILLWRIGHT_TOKEN: 'token' }
  const { terminal, printed } = testTerminal({ environment })
  const session = await connect(terminal, {})
  const stop = new AbortController()
  const errors: Error[] = []
  const watch = new SessionWatch(session, {
    details: peer.session,
    signal: stop.signal,
    pollMs: 10,
    onEnd: (error) => {
      errors.push(error)
      stop.abort()
    },
  })
  const running = watch.run()
  peer.session = { ...peer.session, expiresTimestamp: minutesFromNow(4.6) }
  const command = `To extend it: millwright remote extend ${sessionId} --minutes 60`
  await until('the warning is printed', () => printed.err.includes(`The session ends in 5 minutes. ${command}`))
  peer.session = { ...peer.session, expiresTimestamp: minutesFromNow(30) }
  await until('the extension is printed', () => printed.err.includes('The session is extended until '))
  peer.session = { ...peer.session, expiresTimestamp: minutesFromNow(0.8) }
  await until('the second warning is printed', () => / ends in 4\d seconds\. /.test(printed.err))
  peer.status = 503
  await until('the outage is printed', () => printed.err.includes('The platform is not reachable at the moment.'))
  peer.status = undefined
  await until('the end of the outage is printed', () => printed.err.includes('The platform is reachable again.'))
  peer.session = { ...peer.session, state: 'ended', ending: 'expired' }
  await running
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['The time of the session is over.'],
  )
  assert.equal(printed.err.match(/ends in/g)?.length, 2, 'each warning is printed once')
})

/** Returns the warning before the end of a session of the peer. */
async function warningOf(peer: RemotePeer): Promise<string> {
  const environment = { HOME: '/nonexistent', MILLWRIGHT_URL: peer.url, MILLWRIGHT_TOKEN: 'token' }
  const { terminal, printed } = testTerminal({ environment })
  const stop = new AbortController()
  const { signal } = stop
  const details = { ...peer.session, expiresTimestamp: minutesFromNow(60) }
  const watch = new SessionWatch(await connect(terminal, {}), { details, signal, pollMs: 10, onEnd() {} })
  const running = watch.run()
  await until('the warning is printed', () => printed.err.includes('The session ends in '))
  stop.abort()
  await running
  return printed.err
}

test('a warning names the extension that the policy allows, and none if an extension would be refused', async () => {
  await using peer = await RemotePeer.open()
  peer.session = { ...peer.session, createdTimestamp: minutesFromNow(-56), expiresTimestamp: minutesFromNow(4) }
  const { id: by, name } = peer.session.requestedBy
  const extendBy = (minutes: number) => `To extend it: millwright remote extend ${sessionId} --minutes ${minutes}`
  assert.ok((await warningOf(peer)).includes(extendBy(60)))
  peer.policy = { ...defaultRemotePolicy, maxMinutes: 75 }
  assert.ok((await warningOf(peer)).includes(extendBy(15)))
  peer.policy = { ...defaultRemotePolicy, maxMinutes: 60 }
  assert.ok(!(await warningOf(peer)).includes('extend'))
  peer.policy = { ...defaultRemotePolicy, approval: 'required' }
  assert.ok(!(await warningOf(peer)).includes('extend'))
  peer.policy = defaultRemotePolicy
  peer.session = { ...peer.session, decidedBy: { id: by, name } }
  assert.ok(!(await warningOf(peer)).includes('extend'))
})

test('the end of a session has a reason, a person and a next step', async () => {
  await using peer = await RemotePeer.open()
  const person = { id: sessionId, name: 'john\u001bdoe' }
  const ended = { ...peer.session, state: 'ended' } as const
  assert.equal(
    endError({ ...ended, ending: 'ended-by-user', endedBy: person }).message,
    'The session was ended by john\ufffddoe.',
  )
  assert.equal(endError({ ...ended, ending: 'permission-lost' }).exitCode, 3)
  assert.match(endError({ ...ended, ending: 'host-key-changed' }).next ?? '', /forget-host-key/)
})

test('durations are in seconds, minutes or hours', () => {
  assert.deepEqual([0, 1_000, 119_000, 150_000, 7_200_000].map(durationText), [
    '0 seconds',
    '1 second',
    '119 seconds',
    '3 minutes',
    '2 hours',
  ])
})
