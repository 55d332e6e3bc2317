import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'

/** Access to the fields of asset documents. Documents of custom schemas can have other types in these fields. */

export function isObject(value: unknown): value is AssetDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectIn(value: unknown, field: string): AssetDocument | undefined {
  const member = isObject(value) ? value[field] : undefined
  return isObject(member) ? member : undefined
}

export function objectsIn(value: unknown, field: string): AssetDocument[] {
  const member = isObject(value) ? value[field] : undefined
  return Array.isArray(member) ? member.filter(isObject) : []
}

/** Returns the text of a field, or undefined if the field is missing or empty. */
export function textIn(value: unknown, field: string): string | undefined {
  const member = isObject(value) ? value[field] : undefined
  return typeof member === 'string' && member !== '' ? member : undefined
}

/** The product of an asset, with its serial number. */
type ProductFields = {
  manufacturer: string | undefined
  name: string | undefined
  articleNumber: string | undefined
  version: string | undefined
  family: string | undefined
  type: string | undefined
  link: string | undefined
  serialNumber: string | undefined
}

export function productOf(document: AssetDocument): ProductFields {
  const instance = objectIn(document, 'product_instance_information')
  const product = objectIn(instance, 'manufacturer_product')
  return {
    manufacturer: textIn(objectIn(product, 'manufacturer'), 'name'),
    name: textIn(product, 'product_name'),
    articleNumber: textIn(product, 'product_id'),
    version: textIn(product, 'product_version'),
    family: textIn(product, 'product_family'),
    type: textIn(product, 'product_type'),
    link: textIn(product, 'product_link'),
    serialNumber: textIn(instance, 'serial_number'),
  }
}

export function identifiersOf(document: AssetDocument, type: string): AssetDocument[] {
  return objectsIn(document, 'asset_identifiers').filter((entry) => entry.asset_identifier_type === type)
}

/** A software component of an asset: its artifact, with the name and version that its identifiers state. */
export type SoftwareFields = {
  artifact: AssetDocument
  name: string
  version: string | undefined
  isFirmware: boolean
  /** The id of the running software, if the component runs. */
  runningId: string | undefined
}

export function softwareOf(document: AssetDocument): SoftwareFields[] {
  return objectsIn(document, 'software_components').flatMap((component) => {
    const artifact = objectIn(component, 'artifact')
    return artifact === undefined ? [] : [softwareFields(artifact, textIn(component, 'running_software_id'))]
  })
}

/** Returns the fields of an artifact, or of an asset that is software. */
export function softwareFields(artifact: AssetDocument, runningId?: string): SoftwareFields {
  const identifiers = [
    ...identifiersOf(artifact, 'SoftwareIdentifier'),
    ...identifiersOf(artifact, 'HostBasedSoftwareIdentifier'),
  ]
  const identifier = identifiers[0]
  const product = productOf(artifact)
  return {
    artifact,
    name: textIn(identifier, 'name') ?? textIn(artifact, 'name') ?? product.name ?? 'unknown',
    version: textIn(identifier, 'version') ?? product.version,
    isFirmware: artifact.is_firmware === true,
    runningId,
  }
}

export function isSoftware(document: AssetDocument): boolean {
  return document.functional_object_type === 'SoftwareArtifact' || document.functional_object_type === 'Gateway'
}
