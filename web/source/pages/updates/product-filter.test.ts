import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DriftProduct } from '@millwright/api/updates.ts'
import { driftFilter, productsFilter, productTitle } from './product-filter.ts'

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
