import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endSentence, errorLines } from './scan-progress.ts'

test('errorLines prints the device, the problem and each rejected field with the reason', () => {
  const lines = errorLines({
    code: 3,
    description: 'A field of a device could not be taken over',
    device: { name: 'Pump\u001b[31m', asset_identifiers: [] },
    fields: [{ pointer: '/asset_identifiers/0/id_link', detail: 'must be: an http address' }],
  })
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /^Pump.*: A field of a device could not be taken over$/)
  assert.ok(!lines.join('').includes('\u001b'), 'control characters are removed')
  assert.equal(lines[1], '  /asset_identifiers/0/id_link: must be: an http address')
})

test('errorLines prints the address of a device without a name, unless the description contains the address', () => {
  const device = { ip_address: '10.0.0.2', port: 502 }
  assert.deepEqual(errorLines({ code: 16, description: 'protected', device }), ['10.0.0.2: protected'])
  const description = '10.0.0.2 port 502 closes the connection.'
  assert.deepEqual(errorLines({ code: 14, description, device }), [description])
})

test('errorLines prints the problem code of a rejected device instead of the status code', () => {
  const error = { code: 7, description: 'The asset cannot be changed.', reason: 'identity_taken' }
  assert.deepEqual(errorLines({ ...error, device: { name: 'Pump' } }), [
    'Pump: The asset cannot be changed. (identity_taken)',
  ])
})

test('endSentence ends with one full stop', () => {
  const message = 'The budget allows traffic only from 22:00 to 05:00.'
  assert.equal(endSentence({ state: 'failed', message }), `The scan failed: ${message}`)
  assert.equal(endSentence({ state: 'canceled', message: '' }), 'The scan was canceled.')
})
