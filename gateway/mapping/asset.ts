import { assetLimits, baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { decodeDevice } from './decode.ts'
import { type Document, documentOf, documentsOf, textOf } from './document.ts'
import { toCurrentSchema } from './legacy-schema.ts'
import { normaliseDocument } from './normalise.ts'
import type { Reading } from './reading.ts'
import { type Fault, fitMembers, hasMember } from './schema-fit.ts'

/**
 * `MappingResult` is the result of mapping an entry that a link reported. It contains an asset, a relation between two
 * devices, or only faults if the entry has no identifier.
 */
export type MappingResult = {
  asset?: Document
  /** The id by which relations of the same scan refer to the device. */
  id?: string
  /** The text by which the link identifies the device in an update. It is not part of the asset. */
  metadata?: string
  relation?: { subject: string; predicate: string; object: string }
  faults: Fault[]
}

/**
 * Returns the asset that the values of a device describe, or the relation between two devices. The values have the
 * format of the current discovery interface.
 */
export function assetOfDevice(readings: readonly Reading[]): MappingResult {
  const { document, className } = decodeDevice(readings)
  if (className === relationClass) return relationOf(document)
  return assetOfDocument(document, className)
}

/**
 * The class of an entry that describes a relationship between two devices. Some links send such entries in the list of
 * devices.
 */
const relationClass = 'DeviceRelationship'

function relationOf({ asset_relationship: relationship }: Document): MappingResult {
  const { subject, predicate, object } = documentOf(relationship)
  const texts = { subject: textOf(subject), predicate: textOf(predicate), object: textOf(object) }
  const missing = Object.entries(texts).find(([, text]) => text === undefined)
  if (missing !== undefined) {
    return { faults: [{ pointer: `/asset_relationship/${missing[0]}`, detail: 'is missing' }] }
  }
  return { relation: texts as NonNullable<MappingResult['relation']>, faults: [] }
}

/** Returns the asset that a document of the current or the legacy schema describes. */
export function assetOfDocument(document: Document, className?: string): MappingResult {
  const modern = toCurrentSchema(document, className)
  normaliseDocument(modern)
  const type = String(modern.functional_object_type)
  const { known, others } = divided(modern, type)
  const faults: Fault[] = []
  const annotations = [...documentsOf(known.instance_annotations), ...annotationsFrom(others, faults)]
  const whole = annotations.length === 0 ? known : { ...known, instance_annotations: annotations }
  const fitted = fitMembers(whole, type, faults)
  const identifiers = documentsOf(fitted.asset_identifiers)
  const derived = identifiers.length === 0 ? derivedIdentifiers(fitted) : []
  const all = distinct([...identifiers, ...derived])
  if (all.length === 0) return { faults: [...faults, { pointer: '/asset_identifiers', detail: 'is missing' }] }
  const id = textOf(document.id)
  const metadata = textOf(document.metadata)
  return {
    asset: { ...fitted, functional_object_schema_url: baseSchemaUrl, asset_identifiers: all },
    ...(id === undefined ? {} : { id }),
    ...(metadata === undefined ? {} : { metadata }),
    faults,
  }
}

function divided(document: Document, type: string): { known: Document; others: Document } {
  const names = Object.keys(document)
  if (names.every((name) => hasMember(type, name))) return { known: document, others: {} }
  const members = (isOfClass: boolean) =>
    Object.entries(document).filter(([name]) => hasMember(type, name) === isOfClass)
  return { known: Object.fromEntries(members(true)), others: Object.fromEntries(members(false)) }
}

/** Converts the fields that the base schema does not define to annotations. They come from an extended schema. */
function annotationsFrom(others: Document, faults: Fault[]): Document[] {
  return Object.entries(others).flatMap(([key, value]) => {
    const text = textOf(value)
    const fits =
      text !== undefined && text.length <= assetLimits.textCharacters && key.length <= assetLimits.nameCharacters
    if (fits) return [{ key, value: text }]
    if (text !== undefined || typeof value === 'object') {
      faults.push({ pointer: `/${key}`, detail: 'is not defined in the base schema' })
    }
    return []
  })
}

/**
 * The minimum length of a serial number that is searched in an id link. A shorter serial number could occur in the link
 * by chance.
 */
const minSerialCharacters = 4

/**
 * Returns the identifiers that can be derived from other fields: the id link, the product with its serial number, and
 * the MAC addresses of ports.
 */
function derivedIdentifiers(asset: Document): Document[] {
  const { serial_number: serial, manufacturer_product: product } = documentOf(asset.product_instance_information)
  const { product_link: link, product_id: article, manufacturer } = documentOf(product)
  const vendor = textOf(documentOf(manufacturer).name)
  const number = textOf(serial)
  const candidates: Document[] = []
  // An id link identifies one device only if it contains the serial number. Otherwise it is the same for all devices of
  // the product.
  const isOfInstance =
    number !== undefined && number.length >= minSerialCharacters && decodedText(link).includes(number)
  if (isOfInstance) candidates.push({ asset_identifier_type: 'IdLinkIdentifier', id_link: link })
  if (number !== undefined && vendor !== undefined && textOf(article) !== undefined) {
    candidates.push({
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor,
      article_number: article,
      serial_number: number,
    })
  }
  for (const { mac_address: mac } of documentsOf(asset.connection_points)) {
    if (mac !== undefined) candidates.push({ asset_identifier_type: 'MacIdentifier', mac_address: mac })
  }
  // An invalid derived identifier is not reported, because the device did not send it.
  return documentsOf(fitMembers({ asset_identifiers: candidates }, 'RelatedAsset', []).asset_identifiers)
}

function decodedText(link: unknown): string {
  const text = textOf(link) ?? ''
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function distinct(identifiers: readonly Document[]): Document[] {
  if (identifiers.length < 2) return [...identifiers]
  return [...new Map(identifiers.map((one) => [JSON.stringify(one), one])).values()].slice(0, assetLimits.identifiers)
}
