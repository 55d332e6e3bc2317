import { type Asset, valueAt } from '../../assets/model/asset.ts'

/** Returns the elements of an array in an asset. The result is empty if the array is missing. */
export function elementsOf(asset: Asset, path: string): unknown[] {
  const elements = valueAt(asset, path)
  return Array.isArray(elements) ? elements : []
}

/**
 * Returns the non-empty fields of an element. The field `kind`, which contains the class of the element, is left out.
 */
export function fieldsOf(element: unknown, kind: string): { field: string; value: unknown }[] {
  if (typeof element !== 'object' || element === null) return []
  return Object.entries(element)
    .filter(([field, value]) => field !== kind && value !== null && value !== '')
    .map(([field, value]) => ({
      field: field.replaceAll('_', ' '),
      value: typeof value === 'object' ? JSON.stringify(value) : value,
    }))
}
