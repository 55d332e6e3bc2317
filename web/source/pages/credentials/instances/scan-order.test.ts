import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inScanOrder, triedLinks } from './scan-order.ts'

const credentials = (resourceIdentifier: string, order?: number) => ({
  resourceIdentifier,
  ...(order !== undefined && { order }),
})

test('sorts credentials by the order in which a scan tries them, separately for each asset link', () => {
  const rows = [credentials('snmp', 2), credentials('plant', 3), credentials('plant', 1), credentials('snmp', 1)]
  assert.deepEqual(
    inScanOrder(rows).map(({ resourceIdentifier, order }) => [resourceIdentifier, order]),
    [
      ['snmp', 1],
      ['snmp', 2],
      ['plant', 1],
      ['plant', 3],
    ],
  )
})

test('sorts credentials that a scan does not try to the end', () => {
  const rows = [credentials('snmp'), credentials('plant', 2), credentials('opcua'), credentials('plant', 1)]
  assert.deepEqual(
    inScanOrder(rows).map(({ resourceIdentifier, order }) => [resourceIdentifier, order]),
    [
      ['plant', 1],
      ['plant', 2],
      ['snmp', undefined],
      ['opcua', undefined],
    ],
  )
})

test('counts the asset links with credentials that a scan tries', () => {
  assert.equal(triedLinks([credentials('snmp', 1), credentials('snmp', 2), credentials('plant')]), 1)
  assert.equal(triedLinks([credentials('snmp', 1), credentials('plant', 1)]), 2)
  assert.equal(triedLinks([credentials('opcua')]), 0)
})
