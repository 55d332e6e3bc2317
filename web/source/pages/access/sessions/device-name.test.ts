import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceName } from './device-name.ts'
import { sessionMessages } from './messages.ts'

test('deviceName returns the device in the language of the console', () => {
  const names = (device: string) => [
    deviceName({ device }, sessionMessages.en),
    deviceName({ device }, sessionMessages.de),
  ]
  assert.deepEqual(names('Firefox on Windows'), ['Firefox on Windows', 'Firefox unter Windows'])
  assert.deepEqual(names('millwright command line on Linux'), [
    'millwright command line on Linux',
    'Kommandozeile millwright unter Linux',
  ])
  assert.deepEqual(names('Unknown device'), ['Unknown device', 'Unbekanntes Gerät'])
  assert.deepEqual(names('curl on a stick'), ['curl on a stick', 'curl on a stick'])
})
