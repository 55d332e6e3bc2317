import { firmwareVersionOf } from '@millwright/api/asset-firmware.ts'
import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { isObject, isSoftware, objectIn, objectsIn, productOf, softwareFields, textIn } from '../asset-fields.ts'
import { xmlText } from '../xml-text.ts'

/** The values of a nameplate that are fields of an asset, in exports and imports of Asset Administration Shells. */
export type NameplateValues = {
  manufacturer?: string | undefined
  product?: string | undefined
  family?: string | undefined
  type?: string | undefined
  orderCode?: string | undefined
  articleNumber?: string | undefined
  serialNumber?: string | undefined
  hardwareVersion?: string | undefined
  firmwareVersion?: string | undefined
  softwareVersion?: string | undefined
}

/** The maximum number of characters of the name of a shell. */
export const nameCharacters = 128

/** The maximum number of characters of a text in a language. */
export const textCharacters = 1023

/** Returns a text that XML can contain, with at most this number of characters. */
export function limitedText(text: string, characters: number = textCharacters): string {
  return xmlText(xmlText(text).slice(0, characters))
}

/** Returns the values of the nameplate of an asset. */
export function nameplateValues(document: AssetDocument): NameplateValues {
  const product = productOf(document)
  const software = isSoftware(document)
  const values: NameplateValues = {
    manufacturer: product.manufacturer,
    product: product.name ?? textIn(document, 'name'),
    family: product.family,
    type: product.type,
    orderCode: product.articleNumber,
    articleNumber: product.articleNumber,
    serialNumber: product.serialNumber,
    hardwareVersion: software ? undefined : product.version,
    firmwareVersion: firmwareVersionOf(document) || undefined,
    softwareVersion: software ? softwareFields(document).version : undefined,
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === undefined ? undefined : limitedText(value)]),
  )
}

/** The fields of the product that a value of the nameplate sets. */
const productFields = [
  ['product', 'product_name'],
  ['family', 'product_family'],
  ['type', 'product_type'],
  ['articleNumber', 'product_id'],
  ['orderCode', 'product_id'],
  ['hardwareVersion', 'product_version'],
] as const satisfies readonly (readonly [keyof NameplateValues, string])[]

/**
 * Returns the document of an exported asset with the values that were changed in its nameplate after the export. Values that
 * were removed stay in the document.
 */
export function withNameplateChanges(document: AssetDocument, read: NameplateValues): AssetDocument {
  const exported = nameplateValues(document)
  const changed = (name: keyof NameplateValues) => (read[name] === exported[name] ? undefined : read[name])
  const { manufacturer, serialNumber, firmwareVersion } = {
    manufacturer: changed('manufacturer'),
    serialNumber: changed('serialNumber'),
    firmwareVersion: changed('firmwareVersion'),
  }
  const fields = productFields.flatMap(([name, field]) => {
    const value = changed(name)
    return value === undefined ? [] : [[field, value] as const]
  })
  const instance = objectIn(document, 'product_instance_information')
  const product = objectIn(instance, 'manufacturer_product')
  const isProductChanged = manufacturer !== undefined || fields.length > 0
  const changedProduct = {
    ...product,
    ...Object.fromEntries(fields),
    ...(manufacturer === undefined
      ? {}
      : { manufacturer: { ...objectIn(product, 'manufacturer'), name: manufacturer } }),
  }
  return {
    ...document,
    ...(isProductChanged || serialNumber !== undefined
      ? {
          product_instance_information: {
            ...instance,
            ...(serialNumber === undefined ? {} : { serial_number: serialNumber }),
            ...(isProductChanged ? { manufacturer_product: changedProduct } : {}),
          },
        }
      : {}),
    ...(firmwareVersion === undefined ? {} : { software_components: withFirmware(document, firmwareVersion) }),
  }
}

/** Returns the software components with another version of the first firmware. */
function withFirmware(document: AssetDocument, version: string): AssetDocument[] {
  const components = objectsIn(document, 'software_components')
  const index = components.findIndex((component) => objectIn(component, 'artifact')?.is_firmware === true)
  const artifact = objectIn(components[index], 'artifact')
  const name = artifact === undefined ? 'Firmware' : softwareFields(artifact).name
  const others = objectsIn(artifact, 'asset_identifiers').filter(
    (identifier) => identifier.asset_identifier_type !== 'SoftwareIdentifier',
  )
  const component = {
    software_component_type: 'SoftwareArtifactComponent',
    ...components[index],
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      is_firmware: true,
      ...artifact,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name, version }, ...others],
    },
  }
  return index < 0 ? [...components, component] : components.with(index, component)
}

/** The values by the codes of their semantic ids, in ECLASS and in the IEC CDD. */
const codes: ReadonlyMap<string, keyof NameplateValues> = new Map([
  ['AAO677', 'manufacturer'],
  ['ABA565', 'manufacturer'],
  ['AAW338', 'product'],
  ['ABA567', 'product'],
  ['AAU731', 'family'],
  ['ABP464', 'family'],
  ['AAO057', 'type'],
  ['ABA300', 'type'],
  ['AAO227', 'orderCode'],
  ['ABA950', 'orderCode'],
  ['AAO676', 'articleNumber'],
  ['ABA581', 'articleNumber'],
  ['AAM556', 'serialNumber'],
  ['ABA951', 'serialNumber'],
  ['AAN270', 'hardwareVersion'],
  ['ABA926', 'hardwareVersion'],
  ['AAM985', 'firmwareVersion'],
  ['ABA302', 'firmwareVersion'],
  ['AAM737', 'softwareVersion'],
  ['ABA601', 'softwareVersion'],
])

/** The values by the names of their elements, in all versions of Digital Nameplate and Technical Data. */
const names: ReadonlyMap<string, keyof NameplateValues> = new Map([
  ['manufacturername', 'manufacturer'],
  ['manufacturerproductdesignation', 'product'],
  ['manufacturerproductfamily', 'family'],
  ['manufacturerproducttype', 'type'],
  ['ordercodeofmanufacturer', 'orderCode'],
  ['manufacturerordercode', 'orderCode'],
  ['productarticlenumberofmanufacturer', 'articleNumber'],
  ['manufacturerarticlenumber', 'articleNumber'],
  ['manufacturerpartnumber', 'articleNumber'],
  ['serialnumber', 'serialNumber'],
  ['hardwareversion', 'hardwareVersion'],
  ['firmwareversion', 'firmwareVersion'],
  ['softwareversion', 'softwareVersion'],
])

/** Reads the values of a nameplate from its elements. An element is recognised by its name or its semantic id. */
export function readNameplate(elements: readonly AssetDocument[]): NameplateValues {
  const values: NameplateValues = {}
  for (const element of elements) {
    const name = names.get((textIn(element, 'idShort') ?? '').toLowerCase()) ?? codes.get(codeOf(element))
    const text = contentOf(element)
    if (name !== undefined && text !== undefined && values[name] === undefined) values[name] = text
  }
  return values
}

function codeOf(element: AssetDocument): string {
  const [key] = objectsIn(objectIn(element, 'semanticId'), 'keys')
  return /#(?:02-)?([A-Z]{3}[0-9]{3})#/.exec(textIn(key, 'value') ?? '')?.[1] ?? ''
}

/** Returns the value of a property, or the text of a property in several languages. */
function contentOf(element: AssetDocument): string | undefined {
  return Array.isArray(element.value) ? languageText(element.value) : textIn(element, 'value')
}

/** Returns the English text, or else the first text. */
export function languageText(value: unknown): string | undefined {
  const texts = Array.isArray(value) ? value.filter(isObject) : []
  const english = texts.find((entry) => /^en\b/i.test(textIn(entry, 'language') ?? ''))
  return textIn(english ?? texts[0], 'text')
}
