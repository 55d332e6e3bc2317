import { quoted } from '../assets/filter/filter-conditions.ts'

const product = 'product_instance_information/manufacturer_product'

type ProductFilterOptions = {
  manufacturer?: string
  /** Product ids or product names. */
  products: readonly string[]
}

/** Returns the filter for all assets of some products. */
export function productFilter({ manufacturer, products }: ProductFilterOptions): string {
  const ofProduct = products.flatMap((name) => [
    `${product}/product_id eq ${quoted(name)}`,
    `${product}/product_name eq ${quoted(name)}`,
  ])
  const anyProduct = `(${ofProduct.join(' or ')})`
  return manufacturer === undefined
    ? anyProduct
    : `${product}/manufacturer/name eq ${quoted(manufacturer)} and ${anyProduct}`
}
