import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SetupError } from '../setup-error.ts'
import { temporaryFolder, until } from '../testing.ts'
import {
  parseRemoteAccess,
  RemoteAccessFile,
  readRemoteAccess,
  remoteAccessFileName,
  writeRemoteAccess,
} from './remote-access-file.ts'
import { defaultRemoteAccess } from './remote-access-settings.ts'

const file = () => join(temporaryFolder(), remoteAccessFileName)

test('remote-access.json: fields that are missing have their default, also without a file', async () => {
  const path = file()
  assert.deepEqual(await readRemoteAccess(path), defaultRemoteAccess)
  writeFileSync(path, '{"remoteAccess":{"allow":[]}}')
  assert.deepEqual(await readRemoteAccess(path), { isEnabled: true, loopback: false, allow: [] })
  const settings = { isEnabled: false, loopback: true, allow: [{ network: '10.0.0.0/8', ports: [22] }] }
  await writeRemoteAccess(path, settings)
  assert.deepEqual(await readRemoteAccess(path), settings)
})

for (const [text, message] of [
  ['{', /is not JSON/],
  ['[]', /one field "remoteAccess"/],
  ['{}', /one field "remoteAccess"/],
  ['{"isEnabled":false}', /one field "remoteAccess"/],
  ['{"remoteAccess":{},"other":1}', /one field "remoteAccess"/],
  ['{"remoteAccess":{"enabled":false}}', /\/remoteAccess/],
  ['{"remoteAccess":{"isEnabled":"no"}}', /\/remoteAccess\/isEnabled must be boolean/],
  ['{"remoteAccess":{"allow":[{"network":"10.0.0.0/8"}]}}', /\/remoteAccess\/allow\/0/],
  ['{"remoteAccess":{"allow":[{"network":"10.0.0.0/8","ports":[0]}]}}', /\/remoteAccess\/allow\/0\/ports\/0/],
  [
    '{"remoteAccess":{"allow":[{"network":"plc.example.com","ports":[22]}]}}',
    /"plc\.example\.com" in allow is not a network/,
  ],
  ['{"remoteAccess":{"allow":[{"network":"10.0.0.0/33","ports":[22]}]}}', /is not a network/],
  ['{"remoteAccess":{"allow":[{"network":"fe80::1%eth0","ports":[22]}]}}', /is not a network/],
] as const)
  test(`remote-access.json: ${text} is refused with the field and the reason`, () => {
    assert.throws(
      () => parseRemoteAccess(text, remoteAccessFileName),
      (error) => error instanceof SetupError && message.test(error.message),
    )
  })

test('remote-access.json: a running gateway reads changes, and allows nothing while the file is not valid', async () => {
  const path = file()
  const changes: (string | undefined)[] = []
  using watched = await RemoteAccessFile.open(path, ({ fault }) => changes.push(fault))
  assert.deepEqual(watched.settings, defaultRemoteAccess)
  writeFileSync(path, '{"remoteAccess":{"loopback":true}}')
  await until(() => watched.settings.loopback)
  writeFileSync(path, '{"remoteAccess":')
  await until(() => watched.fault !== undefined)
  assert.match(watched.fault ?? '', /remote-access\.json is not valid: it is not JSON/)
  assert.deepEqual(watched.settings, { isEnabled: true, allow: [], loopback: false })
  rmSync(path)
  assert.deepEqual(await watched.refresh(), defaultRemoteAccess)
  assert.equal(watched.fault, undefined)
  assert.equal(changes.length, 3)
})

test('remote-access.json: a file that is not valid at the start allows nothing', async () => {
  const path = file()
  writeFileSync(path, 'allow everything')
  using watched = await RemoteAccessFile.open(path, () => undefined)
  assert.deepEqual(watched.settings.allow, [])
  assert.match(watched.fault ?? '', /is not JSON/)
})
