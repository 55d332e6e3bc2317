/**
 * The submodel elements of a JSON document. An object becomes a collection, an array a list, and each value a property,
 * so that every tool for Asset Administration Shells shows the document. `documentOf` returns exactly the document that
 * `elementOf` was called with.
 */

import { isXmlText } from '../xml-text.ts'

/** A submodel element in the JSON serialization of the metamodel V3. */
export type Element = { modelType: string; idShort?: string; value?: unknown; [field: string]: unknown }

/** The extension of an element whose name is not a valid `idShort`. Its value is the name as a JSON string. */
const memberName = 'MemberName'

/** Names that an `idShort` can have, except those of members with another name. */
const validIdShort = /^(?!Member_\d+$)[A-Za-z][A-Za-z0-9_]{1,127}$/

/** Returns the element of a value, with the fields that name it. */
export function elementOf(value: unknown, naming: object = {}): Element {
  if (Array.isArray(value)) return listOf(value, naming)
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member], place) => elementOf(member, namingOf(name, place)))
    return { modelType: 'SubmodelElementCollection', ...naming, ...(members.length === 0 ? {} : { value: members }) }
  }
  if (typeof value === 'string' && !isXmlText(value))
    return { modelType: 'Blob', ...naming, value: Buffer.from(value).toString('base64'), contentType: 'text/plain' }
  return { modelType: 'Property', ...naming, ...propertyValue(value) }
}

function namingOf(name: string, place: number): object {
  if (validIdShort.test(name)) return { idShort: name }
  // Escapes of JSON make the name valid in XML.
  const value = JSON.stringify(name).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { extensions: [{ name: memberName, valueType: 'xs:string', value }], idShort: `Member_${place}` }
}

function listOf(values: readonly unknown[], naming: object): Element {
  const items = values.map((value) => elementOf(value))
  const types = new Set(items.map(({ modelType, valueType }) => `${modelType} ${valueType ?? ''}`))
  const [type = ''] = items.length === 0 ? ['SubmodelElement'] : types.size === 1 ? types : ['SubmodelElement']
  const [typeValueListElement, valueTypeListElement = ''] = type.split(' ')
  return {
    modelType: 'SubmodelElementList',
    ...naming,
    orderRelevant: true,
    typeValueListElement,
    ...(valueTypeListElement === '' ? {} : { valueTypeListElement }),
    ...(items.length === 0 ? {} : { value: items }),
  }
}

function propertyValue(value: unknown): { valueType: string; value?: string } {
  if (value === null || value === undefined) return { valueType: 'xs:string' }
  if (typeof value === 'boolean') return { valueType: 'xs:boolean', value: String(value) }
  if (typeof value === 'number')
    return { valueType: Number.isSafeInteger(value) ? 'xs:integer' : 'xs:double', value: String(value) }
  return { valueType: 'xs:string', value: String(value) }
}

/** Returns the document of an element. Elements that are not part of a document are left out. */
export function documentOf(element: Element): unknown {
  const { modelType, value } = element
  if (modelType === 'SubmodelElementCollection') {
    const members = elementsOf(value).map((member) => [nameOf(member), documentOf(member)] as const)
    return Object.fromEntries(members.filter(([name, member]) => name !== undefined && member !== undefined))
  }
  if (modelType === 'SubmodelElementList') return elementsOf(value).map(documentOf)
  if (modelType === 'Blob') return typeof value === 'string' ? Buffer.from(value, 'base64').toString() : undefined
  if (modelType === 'Property') return propertyContent(element)
  return undefined
}

export function elementsOf(value: unknown): Element[] {
  if (!Array.isArray(value)) return []
  return value.filter((entry) => typeof entry === 'object' && entry !== null && typeof entry.modelType === 'string')
}

function nameOf({ idShort, extensions }: Element): string | undefined {
  const named = Array.isArray(extensions) ? extensions.find((extension) => extension?.name === memberName) : undefined
  if (typeof named?.value !== 'string') return typeof idShort === 'string' ? idShort : undefined
  try {
    const name: unknown = JSON.parse(named.value)
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

const numberTypes: ReadonlySet<unknown> = new Set(['xs:double', 'xs:integer'])

function propertyContent({ value, valueType }: Element): unknown {
  if (typeof value !== 'string') return null
  if (valueType === 'xs:boolean') return value === 'true' || value === '1'
  if (!numberTypes.has(valueType)) return value
  const number = value.trim() === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : value
}
