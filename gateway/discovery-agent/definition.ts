import { comparisonOperators } from '@millwright/api/discovery.ts'
import { type LinkParameter, type LinkReport, linkDataTypes } from '@millwright/api/gatekeeper.ts'
import type { Variant } from '@millwright/api/proto/generated/variant_pb.js'
import { type JsonValue, variantOfType, variantTypeOf } from '@millwright/api/variant.ts'
import { documentsOf, textOf } from '../mapping/document.ts'

/** A filter or an option of a job, ready for the link. */
export type Parameter = { key: string; operator: number; value: Variant; text: string }

export type Wanted = { assetLinkId: string; filters: Parameter[]; options: Parameter[] }

type Knowledge = Pick<LinkReport, 'filters' | 'options'> | undefined

/** What a job asks for; throws a sentence when it asks for what cannot be. */
export function wantedOf(definition: Record<string, unknown>, link: Knowledge): Wanted {
  return {
    assetLinkId: textOf(definition.assetLinkId) ?? '',
    filters: parametersOf('filter', definition.filters ?? definition.discoveryFilters, link?.filters ?? []),
    options: parametersOf('option', definition.options ?? definition.discoveryOptions, link?.options ?? []),
  }
}

function parametersOf(kind: string, given: unknown, declared: readonly LinkParameter[]): Parameter[] {
  return documentsOf(given).map(({ key, value, comparisonOperator = 'EQUAL', dataType }) => {
    const name = String(key)
    // The link's own word counts: it refuses a value of any other type.
    const type = declared.find((parameter) => parameter.key === name)?.dataType ?? dataTypeNamed(dataType)
    const variant = variantOfType(variantTypeOf(type), value as JsonValue)
    if (variant === undefined)
      throw new Error(`The ${kind} ${name} must be of type ${type}, which the given value is not`)
    const operator = (comparisonOperators as readonly unknown[]).indexOf(comparisonOperator)
    if (operator === -1)
      throw new Error(`The ${kind} ${name} has the comparison ${comparisonOperator}, which links do not know`)
    return { key: name, operator, value: variant, text: typeof value === 'string' ? value : JSON.stringify(value) }
  })
}

function dataTypeNamed(name: unknown): (typeof linkDataTypes)[number] {
  return linkDataTypes.find((known) => known === name) ?? 'unspecified'
}
