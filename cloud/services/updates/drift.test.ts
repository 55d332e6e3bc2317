import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InstallableArtefact } from './compatibility.ts'
import { driftOf, outdatedVersions, type ProductVersionCount, withGatewayCounts } from './drift.ts'

const pump = { manufacturer: 'Example', productId: 'P1', productName: 'Pump' }
const artefact: InstallableArtefact = {
  id: 'new',
  name: 'Firmware',
  kind: 'firmware',
  manufacturer: 'EXAMPLE',
  products: ['p1'],
  version: '3.0',
}

function count(firmwareVersion: string | undefined, devices: number, changes: Partial<ProductVersionCount> = {}) {
  return { ...pump, ...(firmwareVersion === undefined ? {} : { firmwareVersion }), devices, ...changes }
}

test('lists the versions of a product from the newest to the oldest, and unknown versions last', () => {
  const [product] = driftOf([count('1.9', 10), count(undefined, 2), count('1.10', 80), count('2.0', 3)], [])
  assert.deepEqual(
    product?.versions.map(({ version, devices, isOutlier }) => [version, devices, isOutlier]),
    [
      ['2.0', 3, true],
      ['1.10', 80, false],
      ['1.9', 10, false],
      [null, 2, false],
    ],
  )
  assert.deepEqual([product?.devices, product?.newestKnown, product?.outdated], [95, '2.0', 90])
  assert.equal(product?.newestArtefactId, undefined)
})

test('counts equal versions together, in their most common form', () => {
  const [product] = driftOf([count('V2.0', 1), count('2.0.0', 5), count('2.0', 2)], [])
  assert.deepEqual(
    product?.versions.map(({ version, devices }) => [version, devices]),
    [['2.0.0', 8]],
  )
  assert.equal(product?.outdated, 0)
})

test('takes the newest version from the artefacts if it is newer, for the product id or the product name', () => {
  const older = { ...artefact, id: 'old', version: '2.5' }
  const named = { ...artefact, id: 'named', version: '3.1', products: ['PUMP'] }
  const [product] = driftOf([count('2.0', 4)], [older, artefact, named])
  assert.deepEqual([product?.newestKnown, product?.newestArtefactId, product?.outdated], ['3.1', 'named', 4])
  const [current] = driftOf([count('3.0.0', 4)], [artefact])
  assert.deepEqual([current?.newestKnown, current?.newestArtefactId, current?.outdated], ['3.0', 'new', 0])
})

test('groups products without regard to letter case, and lists those with most outdated devices first', () => {
  const rows = [
    count('1.0', 5),
    count('2.0', 1),
    count('1.0', 2, { manufacturer: 'example', productId: 'p1' }),
    count('1.0', 50, { productId: 'P2' }),
    { manufacturer: 'Example', productName: 'Only a name', devices: 1 },
  ]
  assert.deepEqual(
    driftOf(rows, []).map(({ product, devices, outdated }) => [product, devices, outdated]),
    [
      ['P1', 8, 7],
      ['P2', 50, 0],
      ['Only a name', 1, 0],
    ],
  )
})

test('returns the outdated versions with the texts of the assets', () => {
  const other = { manufacturer: 'example', productId: 'p1' }
  const rows = [count('V1.0', 5), count('1.0', 1, other), count('2.0', 3), count(undefined, 1)]
  assert.deepEqual(outdatedVersions(rows, []), [
    { ...pump, firmwareVersion: 'V1.0' },
    { ...pump, ...other, firmwareVersion: '1.0' },
  ])
  assert.equal(outdatedVersions(rows, [artefact]).length, 3)
})

test('marks no version as an outlier if all devices have the same one', () => {
  const [product] = driftOf([count('1.0', 1)], [])
  assert.equal(product?.versions[0]?.isOutlier, false)
})

test('counts the outdated devices that an asset link has found, without regard to letter case', () => {
  const products = driftOf([count('1.0', 5), count('2.0', 3), count('1.0', 2, { productId: 'P2' })], [artefact])
  const found = [count('1.0', 2), count('1.0', 1, { manufacturer: 'example' }), count('3.0', 1), count(undefined, 4)]
  assert.deepEqual(
    withGatewayCounts(products, found).map(({ product, outdated, outdatedWithGateway }) => [
      product,
      outdated,
      outdatedWithGateway,
    ]),
    [
      ['P1', 8, 3],
      ['P2', 0, 0],
    ],
  )
})
