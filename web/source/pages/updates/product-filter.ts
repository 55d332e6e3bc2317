import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { andFilters, conditionsOf, filterOf, quoted } from '../assets/filter/filter-conditions.ts'

const path = 'product_instance_information/manufacturer_product'

/** Returns the filter for all assets of some products, which are product ids or product names. */
export function productsFilter(products: readonly string[]): string {
  return products
    .flatMap((product) => [`${path}/product_id eq ${quoted(product)}`, `${path}/product_name eq ${quoted(product)}`])
    .join(' or ')
}

/** Returns the filter for all assets of a product in use. A product without an id is identified by its name. */
export function driftFilter({ manufacturer, product, productName }: DriftProduct): string {
  const field = product === productName ? 'product_name' : 'product_id'
  return filterOf({
    join: 'and',
    conditions: [
      { path: `${path}/manufacturer/name`, operator: 'eq', value: manufacturer },
      { path: `${path}/${field}`, operator: 'eq', value: product },
    ],
  })
}

/** Returns the name of a product in use, with its manufacturer unless the name starts with the same word. */
export function productTitle({ manufacturer, productName, product }: DriftProduct): string {
  const name = productName ?? product
  const firstWord = (text: string) => text.split(' ')[0]?.toLowerCase()
  return firstWord(name) === firstWord(manufacturer) ? name : `${manufacturer} ${name}`
}

/**
 * Returns which assets of a product in use a filter selects, without reading them: all of them, none, or possibly some. Only the
 * filters of `driftFilter` and `productsFilter` select all.
 */
export function partOfProduct(filter: string, product: DriftProduct): 'all' | 'some' | 'none' {
  if (filter === driftFilter(product)) return 'all'
  const { conditions, join } = conditionsOf(filter) ?? { conditions: [], join: 'and' }
  const isOfProduct = (field: string) => field === `${path}/product_id` || field === `${path}/product_name`
  const named = conditions.flatMap((each) =>
    isOfProduct(each.path) && each.operator === 'eq' ? [each.value.toLowerCase()] : [],
  )
  const names = [product.product, product.productName ?? product.product]
  const isListOfProducts = named.length > 0 && named.length === conditions.length
  if (isListOfProducts && names.some((name) => filter.includes(productsFilter([name])))) return 'all'
  const isOther = !names.some((name) => named.includes(name.toLowerCase()))
  return isOther && named.length > 0 && (join === 'and' || isListOfProducts) ? 'none' : 'some'
}

/** The number of asset ids that fit into a filter. */
const idsPerFilter = 50

/**
 * Returns the filter for the assets of a product that are targets of a campaign. Returns undefined if the campaign has too many
 * selected assets for a filter.
 */
export function targetsFilter(product: DriftProduct, { targets }: Pick<Campaign, 'targets'>): string | undefined {
  if ('filter' in targets) return andFilters(driftFilter(product), targets.filter)
  if (targets.assetIds.length === 0 || targets.assetIds.length > idsPerFilter) return undefined
  return andFilters(driftFilter(product), `id in (${targets.assetIds.map(quoted).join(', ')})`)
}
