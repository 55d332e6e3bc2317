import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DriftProduct } from '@millwright/api/updates.ts'
import { driftFilter, partOfProduct, productsFilter, productTitle, targetsFilter } from './product-filter.ts'

const path = 'product_instance_information/manufacturer_product'

test('selects the assets of several products by id or name, with quoted values', () => {
  assert.equal(
    productsFilter(["Drive 'S'", 'B']),
    `${path}/product_id eq 'Drive ''S''' or ${path}/product_name eq 'Drive ''S''' or ${path}/product_id eq 'B' or ${path}/product_name eq 'B'`,
  )
})

test('selects the assets of a product in use by its id, or by its name if it has no id', () => {
  const product = { manufacturer: 'Acme', product: 'A1', productName: 'Drive' } as DriftProduct
  assert.equal(driftFilter(product), `${path}/manufacturer/name eq 'Acme' and ${path}/product_id eq 'A1'`)
  assert.match(driftFilter({ ...product, product: 'Drive' }), /product_name eq 'Drive'$/)
})

test('names a product with its manufacturer, and does not repeat the first word of the manufacturer', () => {
  const product = { manufacturer: 'Acme Drives', product: 'A1', productName: 'Drive' } as DriftProduct
  assert.equal(productTitle(product), 'Acme Drives Drive')
  assert.equal(productTitle({ ...product, productName: 'Acme 7.5 kW' }), 'Acme 7.5 kW')
})

test('states which assets of a product a filter selects', () => {
  const product = { manufacturer: 'Acme', product: 'A1', productName: 'Drive' } as DriftProduct
  const other = { ...product, product: 'A2' }
  const partOf = (filter: string) => partOfProduct(filter, product)
  assert.equal(partOf(driftFilter(product)), 'all')
  assert.equal(partOf(driftFilter(other)), 'none')
  assert.equal(partOf(productsFilter(['B', 'A1'])), 'all')
  assert.equal(partOf(productsFilter(['Drive'])), 'all')
  assert.equal(partOf(productsFilter(['B', 'A2'])), 'none')
  assert.equal(partOf(`${path}/product_id eq 'a1'`), 'some')
  assert.equal(partOf(`${driftFilter(product)} and contains(name, 'Line 1')`), 'some')
  assert.equal(partOf(`${driftFilter(other)} and contains(name, 'Line 1')`), 'none')
  assert.equal(partOf(`${path}/product_id eq 'A2' or contains(name, 'Line 1')`), 'some')
  assert.equal(partOf("not (name eq 'x')"), 'some')
})

test('selects the targets of a campaign among the assets of a product', () => {
  const product = { manufacturer: 'Acme', product: 'A1' } as DriftProduct
  const line = targetsFilter(product, { targets: { filter: "contains(name, 'Line 1')" } })
  assert.ok(line?.includes(driftFilter(product)) && line.includes("contains(name, 'Line 1')"))
  const listed = targetsFilter(product, { targets: { assetIds: ['a', 'b'] } })
  assert.ok(listed?.includes(driftFilter(product)) && listed.includes("id in ('a', 'b')"))
})

test('returns no filter for a campaign with more selected assets than fit into a filter, or with none', () => {
  const product = { manufacturer: 'Acme', product: 'A1' } as DriftProduct
  assert.equal(targetsFilter(product, { targets: { assetIds: Array.from({ length: 51 }, () => 'a') } }), undefined)
  assert.equal(targetsFilter(product, { targets: { assetIds: [] } }), undefined)
})
