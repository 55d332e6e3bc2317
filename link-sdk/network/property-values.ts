import type { VariantValue } from '@millwright/api/variant.ts'
import type { Asset } from '../device-identifiers.ts'

/** Returns the fields of an asset as property values, without fields that are undefined. */
export function propertyValues(asset: Asset): Record<string, VariantValue> {
  return JSON.parse(JSON.stringify(asset))
}
