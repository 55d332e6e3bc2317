import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { assetDocumentId, relationsId } from '../../../platform/files/aas/asset-area.ts'
import { type Element, elementOf } from '../../../platform/files/aas/document-elements.ts'
import { limitedText, nameCharacters, nameplateValues, textCharacters } from '../../../platform/files/aas/nameplate.ts'
import {
  identifiersOf,
  isObject,
  isSoftware,
  objectsIn,
  productOf,
  type SoftwareFields,
  softwareFields,
  softwareOf,
  textIn,
} from '../../../platform/files/asset-fields.ts'
import { xmlText } from '../../../platform/files/xml-text.ts'
import { type ExportedAsset, partPredicates } from './exported-asset.ts'

/**
 * Asset Administration Shells of assets, as objects of the JSON serialization. They are valid in the metamodel V3.0 and
 * V3.1.
 *
 * Each asset has one shell with these submodels of the IDTA: Digital Nameplate 3.0, Technical Data 2.0, Software Nameplate
 * 1.0 for each software, and Hierarchical Structures 1.1 if the asset has parts or is a part. Elements that a template
 * requires are always present. They have no value if the platform does not know the value.
 */

/** A shell or a submodel. */
export type Identifiable = { modelType: string; id: string; [field: string]: unknown }

export type AasOptions = {
  /** The prefix of the global asset ids, from `assetNamespace`. */
  namespace: string
  /** Returns the name of a custom property, or undefined if it was deleted. */
  propertyName: (key: string) => string | undefined
}

/** Returns the shell of an asset. */
export function shellOf(asset: ExportedAsset, options: AasOptions): Identifiable {
  const { document } = asset
  const globalAssetId = globalAssetIdOf(document, options)
  const name = textIn(document, 'name')
  const description = textIn(document, 'description')
  const specificAssetIds = specificAssetIdsOf(document)
  return {
    modelType: 'AssetAdministrationShell',
    idShort: idShortOf(name),
    ...(name === undefined ? {} : { displayName: [languageText(name, nameCharacters)] }),
    ...(description === undefined ? {} : { description: [languageText(description)] }),
    id: `${globalAssetId}:shell`,
    assetInformation: {
      assetKind: 'Instance',
      globalAssetId,
      ...(specificAssetIds.length === 0 ? {} : { specificAssetIds }),
    },
    submodels: submodelPlans(asset, options).map(({ id }) => ({
      type: 'ModelReference',
      keys: [{ type: 'Submodel', value: id }],
    })),
  }
}

/** Returns the submodels of an asset. */
export function submodelsOf(asset: ExportedAsset, options: AasOptions): Identifiable[] {
  return submodelPlans(asset, options).map(({ id, build }) => {
    const { idShort, semanticId, elements } = build()
    return { modelType: 'Submodel', idShort, id, kind: 'Instance', semanticId, submodelElements: elements }
  })
}

type SubmodelContent = { idShort: string; semanticId: object; elements: Element[] }
type SubmodelPlan = { id: string; build: () => SubmodelContent }

/** The ids of the submodels of an asset, each with the function that creates its content. */
function submodelPlans(asset: ExportedAsset, options: AasOptions): SubmodelPlan[] {
  const { document } = asset
  const base = `${globalAssetIdOf(document, options)}:submodel`
  const software = [...(isSoftware(document) ? [softwareFields(document)] : []), ...softwareOf(document)]
  const wholes = relatedParts(asset, 'subject')
  const parts = relatedParts(asset, 'object')
  const hierarchy = (direction: 'OneUp' | 'OneDown', related: readonly string[]): SubmodelPlan[] =>
    related.length === 0
      ? []
      : [
          {
            id: `${base}:${direction === 'OneUp' ? 'wholes' : 'parts'}`,
            build: () => hierarchicalStructures(document, { direction, related, base, ...options }),
          },
        ]
  return [
    { id: `${base}:nameplate`, build: () => digitalNameplate(document, options) },
    { id: `${base}:technical-data`, build: () => technicalData(asset, options) },
    ...hierarchy('OneUp', wholes),
    ...hierarchy('OneDown', parts),
    ...software.map((one, index) => ({
      id: `${base}:software-nameplate:${index}`,
      build: () => softwareNameplate(one, { host: document, reference: `${base}:software:${index}` }),
    })),
  ]
}

function globalAssetIdOf(document: AssetDocument, { namespace }: AasOptions): string {
  return namespace + String(document.id)
}

/** The limits of the metamodel for specific asset ids. */
const limits = { labelCharacters: 64, idCharacters: 2000 } as const

function languageText(text: string, characters: number = textCharacters): object {
  // The platform does not store the language of a text.
  return { language: 'en', text: limitedText(text, characters) }
}

function idShortOf(name: string | undefined): string {
  const letters = (name ?? '').replace(/[^A-Za-z0-9_]+/g, '_').replace(/^[^A-Za-z]+/, '')
  return letters.length < 2 ? 'Asset' : letters.slice(0, nameCharacters)
}

/** The identifiers that systems use to find a shell. The submodel Technical Data contains all identifiers of an asset. */
function specificAssetIdsOf(document: AssetDocument): object[] {
  const product = productOf(document)
  const ofInstance = identifiersOf(document, 'ProductInstanceIdentifier')
  const of = (type: string, field: string) => identifiersOf(document, type).map((entry) => textIn(entry, field))
  const candidates: [string, string | undefined][] = [
    ['serialNumber', product.serialNumber],
    ...ofInstance.map((entry): [string, string | undefined] => ['serialNumber', textIn(entry, 'serial_number')]),
    ['articleNumber', product.articleNumber],
    ...ofInstance.map((entry): [string, string | undefined] => ['articleNumber', textIn(entry, 'article_number')]),
    ...of('MacIdentifier', 'mac_address').map((value): [string, string | undefined] => ['macAddress', value]),
    ...of('IdLinkIdentifier', 'id_link').map((value): [string, string | undefined] => ['idLink', value]),
    ...of('CertificateIdentifier', 'certificate_id').map((value): [string, string | undefined] => [
      'certificateId',
      value,
    ]),
    ...identifiersOf(document, 'CustomIdentifier').map((entry): [string, string | undefined] => [
      textIn(entry, 'name') ?? '',
      textIn(entry, 'value'),
    ]),
  ]
  const ids = new Map<string, object>()
  for (const [candidate, text = ''] of candidates) {
    const name = limitedText(candidate, limits.labelCharacters)
    const value = xmlText(text)
    if (name === '' || name === 'globalAssetId' || value === '' || value.length > limits.idCharacters) continue
    ids.set(`${name}\n${value}`, { name, value })
  }
  return [...ids.values()]
}

function relatedParts({ document, relations }: ExportedAsset, role: 'subject' | 'object'): string[] {
  const other = role === 'subject' ? 'object' : 'subject'
  const related = relations.filter(
    (relation) =>
      relation[role].id === document.id &&
      relation[other].type === 'asset' &&
      relation[other].id !== document.id &&
      partPredicates.includes(relation.predicate),
  )
  return [...new Set(related.map((relation) => relation[other].id))]
}

const external = (value: string) => ({ type: 'ExternalReference', keys: [{ type: 'GlobalReference', value }] })
const template = (value: string) => ({ type: 'ModelReference', keys: [{ type: 'Submodel', value }] })

type Naming = { idShort: string; semanticId?: string }

function naming({ idShort, semanticId }: Naming): object {
  return { idShort, ...(semanticId === undefined ? {} : { semanticId: external(semanticId) }) }
}

function property(name: Naming, value: string | undefined, valueType = 'xs:string'): Element {
  return {
    modelType: 'Property',
    ...naming(name),
    valueType,
    ...(value === undefined ? {} : { value: xmlText(value) }),
  }
}

function multiLanguage(name: Naming, text: string | undefined): Element {
  return {
    modelType: 'MultiLanguageProperty',
    ...naming(name),
    ...(text === undefined ? {} : { value: [languageText(text)] }),
  }
}

function collection(name: Naming, value: Element[]): Element {
  return { modelType: 'SubmodelElementCollection', ...naming(name), value }
}

/** Returns an element only if its value is known. The template does not require the element. */
function optional<Value>(
  value: Value | undefined,
  create: (name: Naming, value: Value) => Element,
  name: Naming,
): Element[] {
  return value === undefined ? [] : [create(name, value)]
}

function digitalNameplate(document: AssetDocument, options: AasOptions): SubmodelContent {
  const values = nameplateValues(document)
  const idLink = identifiersOf(document, 'IdLinkIdentifier')[0]
  const uri = textIn(idLink, 'id_link') ?? globalAssetIdOf(document, options)
  const cdd = (code: string) => `0112/2///61987#${code}`
  const optionalProperty = (value: string | undefined, idShort: string, semanticId: string) =>
    optional(value, property, { idShort, semanticId })
  return {
    idShort: 'Nameplate',
    semanticId: external('https://admin-shell.io/idta/nameplate/3/0/Nameplate'),
    elements: [
      property({ idShort: 'URIOfTheProduct', semanticId: cdd('ABN590#002') }, uri, 'xs:anyURI'),
      multiLanguage({ idShort: 'ManufacturerName', semanticId: cdd('ABA565#009') }, values.manufacturer),
      multiLanguage({ idShort: 'ManufacturerProductDesignation', semanticId: cdd('ABA567#009') }, values.product),
      collection(
        {
          idShort: 'AddressInformation',
          semanticId: 'https://admin-shell.io/zvei/nameplate/1/0/ContactInformations/AddressInformation',
        },
        [
          multiLanguage({ idShort: 'Street', semanticId: '0173-1#02-AAO128#002' }, undefined),
          multiLanguage({ idShort: 'Zipcode', semanticId: '0173-1#02-AAO129#002' }, undefined),
          multiLanguage({ idShort: 'CityTown', semanticId: '0173-1#02-AAO132#002' }, undefined),
          multiLanguage({ idShort: 'NationalCode', semanticId: '0173-1#02-AAO134#002' }, undefined),
        ],
      ),
      ...optional(values.family, multiLanguage, {
        idShort: 'ManufacturerProductFamily',
        semanticId: cdd('ABP464#002'),
      }),
      ...optionalProperty(values.type, 'ManufacturerProductType', cdd('ABA300#008')),
      property({ idShort: 'OrderCodeOfManufacturer', semanticId: cdd('ABA950#008') }, values.orderCode),
      ...optionalProperty(values.articleNumber, 'ProductArticleNumberOfManufacturer', cdd('ABA581#007')),
      ...optionalProperty(values.serialNumber, 'SerialNumber', cdd('ABA951#009')),
      ...optionalProperty(values.hardwareVersion, 'HardwareVersion', cdd('ABA926#008')),
      ...optionalProperty(values.firmwareVersion, 'FirmwareVersion', cdd('ABA302#006')),
      ...optionalProperty(values.softwareVersion, 'SoftwareVersion', cdd('ABA601#008')),
    ],
  }
}

function technicalData(asset: ExportedAsset, options: AasOptions): SubmodelContent {
  const { document } = asset
  const values = nameplateValues(document)
  const content = elementOf(
    describedDocument(document, options),
    naming({ idShort: 'AssetDocument', semanticId: assetDocumentId }),
  )
  const relations = relationsElement(asset, options)
  return {
    idShort: 'TechnicalData',
    semanticId: template('0173-1#01-AHX837#002'),
    elements: [
      collection({ idShort: 'GeneralInformation', semanticId: '0173-1#02-ABK161#002/0173-1#01-AHX838#002' }, [
        property({ idShort: 'ManufacturerName', semanticId: '0173-1#02-AAO677#004' }, values.manufacturer),
        multiLanguage(
          { idShort: 'ManufacturerProductDesignation', semanticId: '0173-1#02-AAW338#003' },
          values.product,
        ),
        property({ idShort: 'ManufacturerArticleNumber', semanticId: '0173-1#02-AAO676#005' }, values.articleNumber),
        property({ idShort: 'ManufacturerOrderCode', semanticId: '0173-1#02-AAO227#004' }, values.articleNumber),
      ]),
      {
        modelType: 'SubmodelElementList',
        ...naming({ idShort: 'TechnicalPropertyAreas', semanticId: '0173-1#02-ABK163#002' }),
        orderRelevant: true,
        typeValueListElement: 'SubmodelElementCollection',
        value: [
          {
            modelType: 'SubmodelElementCollection',
            semanticId: external('0173-1#02-ABL358#002/0173-1#01-AHX773#002'),
            value: [content, ...relations],
          },
        ],
      },
    ],
  }
}

/** The fields that the platform maintains. An import cannot write them. */
const maintainedFields: ReadonlySet<string> = new Set([
  'reachability_state',
  'trust_state',
  'created_timestamp',
  'last_modified_timestamp',
])

/** Returns the document with the names of its custom properties, without the fields that the platform maintains. */
function describedDocument(document: AssetDocument, { propertyName }: AasOptions): AssetDocument {
  const kept = Object.entries(document).filter(([name]) => !maintainedFields.has(name))
  const properties = objectsIn(document, 'custom_properties').map((entry) => {
    const name = propertyName(String(entry.key))
    return name === undefined ? entry : { ...entry, name }
  })
  return { ...Object.fromEntries(kept), ...(properties.length === 0 ? {} : { custom_properties: properties }) }
}

/** Returns the relations of an asset, also those outside of its structure, such as connections. */
function relationsElement({ document, relations }: ExportedAsset, { namespace }: AasOptions): Element[] {
  if (relations.length === 0) return []
  const entries = relations.map(({ subject, predicate, object }) => {
    const isSubject = subject.id === document.id
    const related = isSubject ? object : subject
    return {
      predicate,
      role: isSubject ? 'subject' : 'object',
      ...(related.type === 'asset' ? { related_asset: namespace + related.id } : { related_node: related.id }),
    }
  })
  return [elementOf(entries, naming({ idShort: 'Relations', semanticId: relationsId }))]
}

type HierarchyOptions = AasOptions & {
  direction: 'OneUp' | 'OneDown'
  related: readonly string[]
  base: string
}

function hierarchicalStructures(
  document: AssetDocument,
  { direction, related, base, namespace, ...options }: HierarchyOptions,
): SubmodelContent {
  const semantic = (name: string) => `https://admin-shell.io/idta/HierarchicalStructures/${name}/1/0`
  const submodelId = `${base}:${direction === 'OneUp' ? 'wholes' : 'parts'}`
  const relation = direction === 'OneUp' ? 'IsPartOf' : 'HasPart'
  const reference = (...path: string[]) => ({
    type: 'ModelReference',
    keys: [
      { type: 'Submodel', value: submodelId },
      ...['EntryNode', ...path].map((value) => ({ type: 'Entity', value })),
    ],
  })
  const nodes = related.map(
    (id, index): Element => ({
      modelType: 'Entity',
      ...naming({ idShort: `Node_${index}`, semanticId: semantic('Node') }),
      entityType: 'SelfManagedEntity',
      globalAssetId: namespace + id,
    }),
  )
  const relationships = related.map(
    (_, index): Element => ({
      modelType: 'RelationshipElement',
      ...naming({ idShort: `${relation}_${index}`, semanticId: semantic(relation) }),
      first: reference(),
      second: reference(`Node_${index}`),
    }),
  )
  return {
    idShort: 'HierarchicalStructures',
    semanticId: template('https://admin-shell.io/idta/HierarchicalStructures/1/1/Submodel'),
    elements: [
      {
        modelType: 'Entity',
        ...naming({ idShort: 'EntryNode', semanticId: semantic('EntryNode') }),
        statements: [...nodes, ...relationships],
        entityType: 'SelfManagedEntity',
        globalAssetId: globalAssetIdOf(document, { namespace, ...options }),
      },
      property({ idShort: 'ArcheType', semanticId: semantic('ArcheType') }, direction),
    ],
  }
}

function softwareNameplate(
  { artifact, name, version, isFirmware, runningId }: SoftwareFields,
  { host, reference }: { host: AssetDocument; reference: string },
): SubmodelContent {
  const product = productOf(artifact)
  const base = 'https://admin-shell.io/idta/SoftwareNameplate/1/0/SoftwareNameplate'
  const ofType = (idShort: string): Naming => ({ idShort, semanticId: `${base}/SoftwareNameplateType/${idShort}` })
  const ofInstance = (idShort: string): Naming => ({
    idShort,
    semanticId: `${base}/SoftwareNameplateInstance/${idShort}`,
  })
  const hostName = artifact === host ? hostOf(host) : textIn(host, 'name')
  return {
    idShort: 'SoftwareNameplate',
    semanticId: template('https://admin-shell.io/idta/SoftwareNameplate/1/0'),
    elements: [
      collection({ idShort: 'SoftwareNameplateType', semanticId: `${base}/SoftwareNameplateType` }, [
        property({ idShort: 'URIOfTheProduct', semanticId: '0173-1#02-AAY811#001' }, product.link ?? reference),
        multiLanguage({ idShort: 'ManufacturerName', semanticId: '0173-1#02-AAO677#002' }, product.manufacturer),
        multiLanguage({ idShort: 'ManufacturerProductDesignation', semanticId: '0173-1#02-AAW338#001' }, name),
        ...optional(textIn(artifact, 'description'), multiLanguage, ofType('ManufacturerProductDescription')),
        ...optional(product.family, multiLanguage, {
          idShort: 'ManufacturerProductFamily',
          semanticId: '0173-1#02-AAU731#001',
        }),
        ...optional(product.type, multiLanguage, {
          idShort: 'ManufacturerProductType',
          semanticId: '0173-1#02-AAO057#002',
        }),
        property(ofType('SoftwareType'), isFirmware ? 'Firmware' : 'Software'),
        property(ofType('Version'), version),
        property(ofType('ReleaseDate'), undefined, 'xs:date'),
        property(ofType('BuildDate'), undefined, 'xs:date'),
      ]),
      collection({ idShort: 'SoftwareNameplateInstance', semanticId: `${base}/SoftwareNameplateInstance` }, [
        ...optional(product.serialNumber, property, { idShort: 'SerialNumber', semanticId: '0173-1#02-AAM556#002' }),
        ...optional(runningId, property, ofInstance('InstanceName')),
        ...optional(version, property, ofInstance('InstalledVersion')),
        property(ofInstance('InstallationDate'), undefined, 'xs:date'),
        ...optional(hostName, property, ofInstance('InstalledOnHost')),
      ]),
    ],
  }
}

/** The host that the identifier of a software asset names. */
function hostOf(document: AssetDocument): string | undefined {
  const identifier = identifiersOf(document, 'HostBasedSoftwareIdentifier')[0]
  return isObject(identifier) ? textIn(identifier, 'host_identifier') : undefined
}
