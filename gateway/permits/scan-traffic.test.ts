import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfNumber } from '@millwright/api/ip-range.ts'
import { receiptLimits, UnsignedReceipt } from '@millwright/api/receipt.ts'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import Value from 'typebox/value'
import { trafficFields } from './scan-receipt.ts'
import { ScanTraffic } from './scan-traffic.ts'

test('a receipt counts the classes above its limit as one class', () => {
  const traffic = new ScanTraffic()
  for (let index = 0; index < 2 * receiptLimits.classes; index += 1)
    for (const address of ['10.0.0.1', '10.0.0.2'])
      traffic.add({ address, protocol: 'knock', operation: `Function${index}`, kind: 'request' }, new Date())
  const budgets = [{ from: new Date(), budget: defaultBudget }]
  const { totals, devices } = trafficFields({ state: 'finished', budgets, traffic, endedAt: new Date() })
  assert.equal(Object.keys(totals).length, receiptLimits.classes)
  assert.deepEqual([totals['knock Function62'], totals['knock Function63'], totals.other], [2, undefined, 130])
  for (const { packets } of devices) assert.equal(Object.keys(packets).length, receiptLimits.classes)
})

test('a receipt shows the address of a group, and counts groups above its limit of entries', () => {
  const traffic = new ScanTraffic()
  const at = new Date()
  const add = (address: string) => traffic.add({ address, protocol: 'x', operation: 'Find', kind: 'datagram' }, at)
  for (const address of ['224.0.0.251', '01:0e:cf:00:00:00', '10.0.0.255']) add(address)
  assert.deepEqual([...traffic.addresses.keys()], ['224.0.0.251', '01:0e:cf:00:00:00', '10.0.0.255'])
  for (let host = 0; host < receiptLimits.entries; host += 1) add(addressOfNumber(11 * 2 ** 24 + host))
  add('01:80:c2:00:00:0e')
  const budgets = [{ from: at, budget: { ...defaultBudget, multicast: true } }]
  const fields = trafficFields({ state: 'finished', budgets, traffic, endedAt: at })
  assert.ok(Value.Check(UnsignedReceipt, { ...fields, jobId: crypto.randomUUID(), links: ['x'], unsigned: true }))
  const others = fields.devices.find((one) => 'network' in one && one.network === '0.0.0.0/0')
  assert.deepEqual(others?.packets, { 'x Find': 1 })
})

test('the receipt of a scan with many addresses is within its limits, and counts every permit', onlyInLongRuns, () => {
  const traffic = new ScanTraffic()
  const at = new Date()
  const operations = Array.from({ length: 10 }, (_, index) => `FunctionWithALongName${index}`)
  const first = 10 * 2 ** 24
  const addresses = 2 ** 18
  for (let offset = 0; offset < addresses; offset += 1) {
    const address = addressOfNumber(first + offset)
    const some = offset < 8_000 || offset % 256 === 0 ? operations : operations.slice(0, 1)
    for (const operation of some) traffic.add({ address, protocol: 'opcua', operation, kind: 'request' }, at)
  }
  const excludedAddresses = Array.from({ length: 1_000 }, (_, index) => {
    const network = `10.${index >> 2}.${64 * (index % 4)}`
    return `${network}.100-${network}.200`
  })
  const budgets = Array.from({ length: receiptLimits.budgets }, () => ({
    from: at,
    budget: { ...defaultBudget, excludedAddresses },
  }))
  const fields = trafficFields({ state: 'finished', budgets, traffic, endedAt: new Date() })
  assert.ok(fields.devices.length <= receiptLimits.entries, `${fields.devices.length} entries`)
  assert.ok(JSON.stringify(fields).length < receiptLimits.bytes, `${JSON.stringify(fields).length} bytes`)
  const visited = fields.devices.reduce((sum, one) => sum + ('addresses' in one ? one.addresses : 1), 0)
  assert.equal(visited, addresses)
  const counted = fields.devices.flatMap(({ packets }) => Object.values(packets)).reduce((sum, count) => sum + count, 0)
  const totals = Object.values(fields.totals).reduce((sum, count) => sum + count, 0)
  assert.equal(counted, totals)
})
