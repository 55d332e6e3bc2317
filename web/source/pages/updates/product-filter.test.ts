import assert from 'node:assert/strict'
import { test } from 'node:test'
import { productFilter } from './product-filter.ts'

test('selects assets by product id or product name, with quoted values', () => {
  const path = 'product_instance_information/manufacturer_product'
  assert.equal(
    productFilter({ products: ["Drive 'S'"] }),
    `(${path}/product_id eq 'Drive ''S''' or ${path}/product_name eq 'Drive ''S''')`,
  )
  assert.match(
    productFilter({ manufacturer: 'Acme', products: ['A', 'B'] }),
    /manufacturer\/name eq 'Acme' and \(.*'B'\)$/,
  )
})
