import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../log.ts'
import { temporaryFolder } from '../testing.ts'
import { FoundAddresses } from './found-addresses.ts'

const log = createLog({ level: 'silent' })
const dayMs = 24 * 60 * 60_000

test('found addresses are stored in their normal form and survive a restart', async () => {
  const file = join(temporaryFolder(), 'found-addresses.json')
  const found = await FoundAddresses.open({ file, log })
  for (const address of ['10.0.0.7', '::ffff:10.0.0.8', 'FD00:0:0::7', 'fe80::1%eth0', 'plc.example.com', ''])
    found.add(address)
  await found.close()
  const again = await FoundAddresses.open({ file, log })
  for (const address of ['10.0.0.7', '10.0.0.8', 'fd00::7', 'fe80::1']) assert.ok(again.has(address), address)
  for (const address of ['10.0.0.9', 'plc.example.com', '']) assert.ok(!again.has(address), address)
  await again.close()
})

test('found addresses expire 400 days after the last finding', async () => {
  const file = join(temporaryFolder(), 'found-addresses.json')
  let now = Date.UTC(2026, 0, 1)
  const found = await FoundAddresses.open({ file, log, now: () => now })
  found.add('10.0.0.7')
  found.add('10.0.0.8')
  now += 200 * dayMs
  found.add('10.0.0.8')
  now += 201 * dayMs
  assert.deepEqual([found.has('10.0.0.7'), found.has('10.0.0.8')], [false, true])
  await found.close()
  const again = await FoundAddresses.open({ file, log, now: () => now })
  assert.deepEqual([again.has('10.0.0.7'), again.has('10.0.0.8')], [false, true])
})

test('found addresses are limited in number: the address that was not found for the longest time is removed', async () => {
  const file = join(temporaryFolder(), 'found-addresses.json')
  const found = await FoundAddresses.open({ file, log, now: () => 0 })
  const address = (number: number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`
  for (let number = 0; number < 65_536; number++) found.add(address(number))
  assert.ok(found.has(address(0)))
  found.add(address(65_536))
  assert.deepEqual([found.has(address(0)), found.has(address(1))], [false, true])
  await found.close()
  assert.equal(Object.keys(JSON.parse(readFileSync(file, 'utf8'))).length, 65_536)
})

test('found addresses: a damaged file counts as empty, and nothing is written without a finding', async () => {
  const folder = temporaryFolder()
  for (const text of ['', 'x', '[1]', '{"10.0.0.7":"today"}', '{"010.0.0.7":20000}', 'null']) {
    const file = join(folder, 'damaged.json')
    writeFileSync(file, text)
    const found = await FoundAddresses.open({ file, log, now: () => 20_000 * dayMs })
    assert.ok(!found.has('10.0.0.7') && !found.has('010.0.0.7'))
  }
  const file = join(folder, 'none.json')
  await (await FoundAddresses.open({ file, log })).close()
  assert.ok(!existsSync(file))
})
