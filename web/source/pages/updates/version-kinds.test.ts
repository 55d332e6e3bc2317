import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DriftProduct } from '@millwright/api/updates.ts'
import { versionKindOf, versionShades } from './version-kinds.ts'

const version = (text: string | null, isOutlier = false) => ({ version: text, devices: 1, isOutlier })
const [newest, older, oldest, unknown] = [version('3.0'), version('2.0'), version('1.0', true), version(null)]
const product = {
  manufacturer: 'Acme',
  product: 'A1',
  devices: 4,
  versions: [newest, older, oldest, unknown],
  newestKnown: '3.0',
  outdated: 2,
} satisfies DriftProduct

test('a version is the newest known one, outdated or unknown', () => {
  const kinds = product.versions.map((each) => versionKindOf(each, product.newestKnown))
  assert.deepEqual(kinds, ['newest', 'older', 'older', 'unknown'])
})

test('older versions of a product have darker shades, and the newest and unknown version have none', () => {
  const shadeOf = versionShades(product)
  const shades = product.versions.map((each) => shadeOf(each))
  assert.deepEqual(shades, [{ '--age': '0%' }, { '--age': '0%' }, { '--age': '45%' }, { '--age': '0%' }])
})
