import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseStreamMessage } from '../streams/stream-message.ts'
import { afterClose, afterMessage, initialState, isClosed } from './terminal-state.ts'

const prompt = { type: 'prompt', title: '', instructions: '', prompts: [{ text: 'Password', isSecret: true }] } as const

test('a terminal shows the host key, asks for the password, and opens', () => {
  const hostKey = { type: 'host-key', algorithm: 'ssh-ed25519', fingerprint: 'SHA256:abc', isNew: true } as const
  const asked = afterMessage(afterMessage(initialState, hostKey), prompt)
  assert.deepEqual(asked, { status: { kind: 'sign-in', prompt }, hostKey })
  const open = afterMessage(asked, { type: 'signed-in', user: 'root' })
  assert.deepEqual(open, { status: { kind: 'open' }, hostKey, user: 'root' })
  assert.equal(isClosed(open), false)
})

test('a lost connection and a restart of the platform lead to a new connection', () => {
  for (const code of [1006, 1012, 1001, 1011]) {
    assert.deepEqual(afterClose(initialState, { code }).status, { kind: 'reconnecting' })
  }
})

test('the end of the shell, an error and the end of the session close the terminal', () => {
  const exited = afterMessage(initialState, { type: 'exit', code: 2 })
  assert.deepEqual(exited.status, { kind: 'exited', code: 2 })
  assert.deepEqual(afterClose(exited, { code: 1006 }).status, { kind: 'exited', code: 2 })
  assert.deepEqual(afterClose(initialState, { code: 1000 }).status, { kind: 'exited' })
  assert.deepEqual(afterClose(exited, { code: 4001 }).status, { kind: 'ended' })
  const error = { type: 'error', code: 'host_key_changed', detail: 'The host key has changed' } as const
  const failed = afterClose(initialState, { code: 4000, error })
  assert.deepEqual(failed.status, { kind: 'failed', error: { code: error.code, detail: error.detail } })
  assert.ok(isClosed(failed))
})

test('a terminal that connects again waits while the platform still holds the former terminal', () => {
  const close = { code: 4000, error: { type: 'error', code: 'busy', detail: 'Close the other terminal' } } as const
  assert.equal(afterClose(initialState, close).status.kind, 'failed')
  assert.equal(afterClose({ status: { kind: 'reconnecting' } }, close).status.kind, 'reconnecting')
})

test('ignores messages of an unknown type', () => {
  assert.equal(parseStreamMessage('{"type":"later"}'), undefined)
  assert.equal(parseStreamMessage('null'), undefined)
  assert.deepEqual(parseStreamMessage('{"type":"stored","size":3}'), { type: 'stored', size: 3 })
})
