import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectCommand } from './connect-command.ts'

test('the command names a service, or the number of a TCP port', () => {
  const assetId = '0197f9ae-8a5b-7c57-8a52-0d4f0f0f0f0f'
  assert.equal(connectCommand({ assetId, service: 'ssh' }), `millwright connect ${assetId} ssh`)
  assert.equal(connectCommand({ assetId, service: 'tcp', port: 102 }), `millwright connect ${assetId} 102`)
  assert.equal(connectCommand({ assetId, service: 'tcp' }), `millwright connect ${assetId} <port>`)
})
