import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdentityConfirmation } from './identity-confirmation.ts'

test('concurrent calls share one dialog and its result, and a later call opens a new dialog', async () => {
  const confirmation = new IdentityConfirmation()
  const states: boolean[] = []
  const stop = confirmation.watch(() => states.push(confirmation.isOpen))
  const [first, second] = [confirmation.request(), confirmation.request()]
  confirmation.close(true)
  assert.deepEqual(await Promise.all([first, second]), [true, true])
  const third = confirmation.request()
  confirmation.close(false)
  assert.equal(await third, false)
  assert.deepEqual(states, [true, false, true, false])
  stop()
  confirmation.close(false)
  assert.equal(states.length, 4)
})
