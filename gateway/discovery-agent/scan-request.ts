import { comparisonOperators } from '@millwright/api/discovery.ts'
import { type LinkParameter, type LinkReport, linkDataTypes } from '@millwright/api/gatekeeper.ts'
import type { Variant } from '@millwright/api/proto/generated/variant_pb.js'
import { type JsonValue, variantOfType, variantTypeOf } from '@millwright/api/variant.ts'
import { documentsOf, textOf } from '../mapping/document.ts'

/** `Parameter` is a filter or an option of a job, in the format that the link needs. */
export type Parameter = { key: string; operator: number; value: Variant; text: string }

export type ScanRequest = { assetLinkId: string; filters: Parameter[]; options: Parameter[] }

type DeclaredParameters = Pick<LinkReport, 'filters' | 'options'> | undefined

/** Parses the definition of a discovery job. Throws an error with a readable message for an invalid definition. */
export function scanRequestOf(definition: Record<string, unknown>, link: DeclaredParameters): ScanRequest {
  return {
    assetLinkId: textOf(definition.assetLinkId) ?? '',
    filters: parametersOf('filter', definition.filters ?? definition.discoveryFilters, link?.filters ?? []),
    options: parametersOf('option', definition.options ?? definition.discoveryOptions, link?.options ?? []),
  }
}

function parametersOf(kind: string, values: unknown, declared: readonly LinkParameter[]): Parameter[] {
  return documentsOf(values).map(({ key, value, comparisonOperator = 'EQUAL', dataType }) => {
    const name = String(key)
    // The type that the link declares has priority over the type in the job, because the link rejects values of other
    // types.
    const type = declared.find((parameter) => parameter.key === name)?.dataType ?? dataTypeNamed(dataType)
    const variant = variantOfType(variantTypeOf(type), value as JsonValue)
    if (variant === undefined) throw new Error(`The ${kind} ${name} must have the type ${type}`)
    const operator = (comparisonOperators as readonly unknown[]).indexOf(comparisonOperator)
    if (operator === -1)
      throw new Error(`The ${kind} ${name} has the unknown comparison operator ${comparisonOperator}`)
    return { key: name, operator, value: variant, text: typeof value === 'string' ? value : JSON.stringify(value) }
  })
}

function dataTypeNamed(name: unknown): (typeof linkDataTypes)[number] {
  return linkDataTypes.find((candidate) => candidate === name) ?? 'unspecified'
}
