import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openArpTable } from './neighbours.ts'

const heading = 'IP address       HW type     Flags       HW address            Mask     Device'
const entry = (ip: string, mac: string, flags = '0x2') =>
  `${ip}         0x1         ${flags}         ${mac}     *        eth0`

test('the ARP table finds MAC addresses and IP addresses of complete entries', async () => {
  const { macAddressOf, ipAddressOf } = openArpTable(async () =>
    [
      heading,
      entry('10.0.0.1', '02:00:5e:00:00:01'),
      entry('10.0.0.2', '02:00:5e:00:00:02', '0x0'),
      entry('10.0.0.3', '00:00:00:00:00:00'),
    ].join('\n'),
  )
  assert.equal(await macAddressOf('10.0.0.1'), '02:00:5E:00:00:01')
  assert.equal(await ipAddressOf('02-00-5e-00-00-01'), '10.0.0.1')
  for (const missing of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) assert.equal(await macAddressOf(missing), undefined)
})

test('the ARP table is read again for an entry that is newer than the last reading', async () => {
  const lines = [heading, entry('10.0.0.1', '02:00:5e:00:00:01')]
  let readings = 0
  const { macAddressOf } = openArpTable(async () => {
    readings += 1
    return lines.join('\n')
  })
  await Promise.all([macAddressOf('10.0.0.1'), macAddressOf('10.0.0.1')])
  assert.equal(readings, 1)
  lines.push(entry('10.0.0.2', '02:00:5e:00:00:02'))
  assert.equal(await macAddressOf('10.0.0.2'), '02:00:5E:00:00:02')
})

test('any content of the ARP table gives MAC addresses or nothing', async () => {
  const part = fc.oneof(
    fc.constantFrom('10.0.0.1', '0x1', '0x2', '02:00:5e:00:00:10', '00:00:00:00:00:00', '\n', ' ', '\t', '*'),
    fc.string(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 60 }), fc.string(), async (parts, mac) => {
      const table = openArpTable(async () => `${heading}\n${parts.join(' ')}`)
      const found = await table.macAddressOf('10.0.0.1')
      assert.ok(found === undefined || /^([0-9A-F]{2}:){5}[0-9A-F]{2}$/.test(found))
      await table.ipAddressOf(mac)
    }),
  )
})
