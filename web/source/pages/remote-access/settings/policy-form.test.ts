import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { formOf, policyOf, portsOf } from './policy-form.ts'

test('a policy stays the same when it is edited without a change', () => {
  assert.deepEqual(policyOf(formOf(defaultRemotePolicy)), defaultRemotePolicy)
})

test('names the first field that is not valid', () => {
  const form = formOf(defaultRemotePolicy)
  assert.deepEqual(policyOf({ ...form, maxMinutes: '0' }), { invalid: 'maxMinutes' })
  assert.deepEqual(policyOf({ ...form, maxMinutes: '1441' }), { invalid: 'maxMinutes' })
  assert.deepEqual(policyOf({ ...form, idleMinutes: '1.5' }), { invalid: 'idleMinutes' })
  assert.deepEqual(policyOf({ ...form, ports: '22, telnet' }), { invalid: 'ports' })
})

test('reads ports that are separated by commas, spaces or lines, without repetitions', () => {
  assert.deepEqual(portsOf('22, 443 102\n22'), [22, 443, 102])
  assert.deepEqual(portsOf(''), [])
  assert.equal(portsOf('65536'), undefined)
  assert.equal(portsOf(Array.from({ length: 65 }, (_, index) => index + 1).join(' ')), undefined)
})
