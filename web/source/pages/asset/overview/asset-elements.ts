import { type Asset, valueAt } from '../../assets/model/asset.ts'

/** The elements of an array in an asset; empty if there is none. */
export function elementsOf(asset: Asset, path: string): unknown[] {
  const elements = valueAt(asset, path)
  return Array.isArray(elements) ? elements : []
}

/** The non-empty fields of an element, without its class. */
export function fieldsOf(element: unknown, kind: string): { field: string; value: unknown }[] {
  if (typeof element !== 'object' || element === null) return []
  return Object.entries(element)
    .filter(([field, value]) => field !== kind && value !== null && value !== '')
    .map(([field, value]) => ({
      field: field.replaceAll('_', ' '),
      value: typeof value === 'object' ? JSON.stringify(value) : value,
    }))
}
