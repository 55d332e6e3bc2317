import { hash } from 'node:crypto'
import { assetHeadings, parentPredicates } from '@millwright/api/asset-columns.ts'
import { importLimits } from '@millwright/api/import-limits.ts'
import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { assetDocumentId, relationsId } from './aas/asset-area.ts'
import { documentOf, type Element, elementsOf } from './aas/document-elements.ts'
import { environmentItems } from './aas/environment.ts'
import {
  languageText,
  limitedText,
  type NameplateValues,
  nameCharacters,
  readNameplate,
  textCharacters,
  withNameplateChanges,
} from './aas/nameplate.ts'
import { isObject, objectIn, objectsIn, textIn } from './asset-fields.ts'
import { attributesIn, XmlError, XmlParser } from './xml.ts'
import { damagedZip, type ZipArchive } from './zip.ts'

/**
 * Reads AASX packages, and environments in JSON or XML, as rows: one row for each shell of an asset instance. The packages can come from a hostile source:
 * sizes and depths are limited, and links to other files are refused.
 *
 * A shell that this platform exported contains the complete asset document. Its row is this document, with the values that
 * were changed in the nameplate or in the names of the shell. Every other shell becomes the cells of a table: the
 * values of its Digital Nameplate (versions 1 to 3) and of its Technical Data. `aasxHeadings` are the headings of the cells.
 * Environments in XML can also have the metamodel V2, which many packages of manufacturers still have.
 *
 * The shells are expected before the submodels, as in most packages. A row is then returned as soon as the last submodel of
 * its shell is read, so that memory does not grow with the submodels.
 */
export type AasxRow = { row: number; cells: string[] } | { row: number; document: AssetDocument }

const cellTargets = [
  'name',
  'description',
  'manufacturer',
  'product',
  'order_number',
  'serial_number',
  'hardware_version',
  'firmware_version',
  'mac_address',
] as const

/** The headings of the rows that are cells. */
export const aasxHeadings: readonly string[] = cellTargets.map((target) => assetHeadings[target])

const relationshipTypes = /^http:\/\/(?:www\.)?admin-shell\.io\/aasx\/relationships\/(aasx-origin|aas-spec)$/

/** Returns whether an archive is an AASX package. */
export async function isAasx(archive: ZipArchive): Promise<boolean> {
  return archive.has('_rels/.rels') && (await relationshipsOf(archive, '')).length > 0
}

export async function* readAasx(archive: ZipArchive): AsyncGenerator<AasxRow> {
  const parts = await environmentParts(archive)
  yield* rowsOf(parts.map((part) => archive.text(part)))
}

const environmentStart =
  /^\s*(?:\{\s*"(?:assetAdministrationShells|submodels|conceptDescriptions)"\s*:\s*\[|(?:<[?!][^>]*>\s*)*<(?:\w+:)?(?:environment|aasenv)\s)/

/** Returns whether a file that starts with this text is an environment without a package. */
export function isEnvironment(start: string): boolean {
  return environmentStart.test(start)
}

/** Reads an environment without a package, in the same way as `readAasx`. */
export function readEnvironment(texts: AsyncIterable<string>): AsyncGenerator<AasxRow> {
  return rowsOf([texts])
}

async function* rowsOf(environments: readonly AsyncIterable<string>[]): AsyncGenerator<AasxRow> {
  const shells = new Shells()
  for (const texts of environments) {
    for await (const { list, value } of environmentItems(texts))
      yield* list === 'submodels' ? shells.addSubmodel(value) : shells.addShell(value)
  }
  yield* shells.end()
}

type Relationship = { type: string; target: string }

/** Returns the parts of the package that contain environments. */
async function environmentParts(archive: ZipArchive): Promise<string[]> {
  const ofPackage = await relationshipsOf(archive, '')
  const origin = ofPackage.find(({ type }) => type === 'aasx-origin')
  // Some programs leave out the origin.
  const relationships = origin === undefined ? ofPackage : await relationshipsOf(archive, origin.target)
  const parts = relationships.filter(({ type }) => type === 'aas-spec').map(({ target }) => target)
  if (parts.length === 0)
    throw new Problem('unsupported_file', 'The package contains no environment of Asset Administration Shells')
  return [...new Set(parts)]
}

/** Returns the relationships of a part, or of the package, that lead to environments. */
async function relationshipsOf(archive: ZipArchive, part: string): Promise<Relationship[]> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const name = `${folder}_rels/${part.slice(folder.length)}.rels`
  if (!archive.has(name)) return []
  const found: Relationship[] = []
  const parser = new XmlParser({
    open(tag, text) {
      if (tag !== 'Relationship') return
      const attributes = attributesIn(text)
      const type = relationshipTypes.exec(attributes.get('Type') ?? '')?.[1]
      if (type === undefined) return
      if (attributes.get('TargetMode') === 'External') throw externalLink()
      found.push({ type, target: resolved(folder, attributes.get('Target') ?? '') })
    },
    close() {},
    text() {},
  })
  try {
    for await (const chunk of archive.text(name)) parser.write(chunk)
    parser.end()
  } catch (error) {
    throw error instanceof XmlError ? damagedZip(error) : error
  }
  return found
}

/** Returns the name of the part that a relationship refers to. */
function resolved(folder: string, target: string): string {
  const base = `file:///${folder}`
  const url = URL.parse(target, base)
  if (url === null || url.protocol !== 'file:' || url.host !== '') throw externalLink()
  const path = url.pathname.slice(1)
  try {
    return decodeURIComponent(path)
  } catch {
    // A part with this name is missing, which the archive reports.
    return path
  }
}

function externalLink(): Problem {
  const detail = 'The package refers to an environment outside of the package. Include the environment in the package'
  return new Problem('file_with_external_links', detail)
}

/** What a submodel states about its asset. */
type SubmodelFacts = {
  nameplate?: NameplateValues
  technicalData?: NameplateValues
  document?: AssetDocument
  relations?: AssetDocument[]
}

/** A shell whose submodels are not complete yet. A package has many of them, so they are small. */
type Shell = {
  /** The name of the shell, or its `idShort` if it has no name. */
  name: string | undefined
  isNamed: boolean
  description: string | undefined
  specific: SpecificValues
  /** The number of submodels that are not read yet. */
  missing: number
  facts: SubmodelFacts
}

/** The shells whose submodels are not complete yet, and the facts of submodels whose shells are not read yet. */
class Shells {
  /** The shells by the digests of the ids of their submodels. Ids are long. */
  readonly #bySubmodel = new Map<string, Shell | Shell[]>()
  readonly #early = new Map<string, SubmodelFacts>()
  #rows = 0
  #shells = 0

  addShell(value: AssetDocument): AasxRow[] {
    const information = objectIn(value, 'assetInformation')
    // A shell of a type describes a product, not a device of the plant.
    if (information?.assetKind === 'Type') return []
    this.#shells += 1
    if (this.#shells > importLimits.rows)
      throw new Problem(
        'file_too_large',
        `The package has more than ${importLimits.rows} shells. Split the data into several packages`,
      )
    const name = languageText(value.displayName)
    const shell: Shell = {
      name: name ?? textIn(value, 'idShort'),
      isNamed: name !== undefined,
      description: languageText(value.description),
      specific: specificValues(objectsIn(information, 'specificAssetIds')),
      missing: 0,
      facts: noFacts,
    }
    for (const key of new Set(submodelIds(value).map(digestOf))) {
      const early = this.#early.get(key)
      if (early === undefined) this.#await(shell, key)
      else shell.facts = { ...early, ...shell.facts }
    }
    return shell.missing === 0 ? [this.#row(shell)] : []
  }

  #await(shell: Shell, key: string): void {
    shell.missing += 1
    const others = this.#bySubmodel.get(key)
    if (Array.isArray(others)) others.push(shell)
    else this.#bySubmodel.set(key, others === undefined ? shell : [others, shell])
  }

  addSubmodel(value: AssetDocument): AasxRow[] {
    const id = textIn(value, 'id')
    if (id === undefined || value.kind === 'Template') return []
    const key = digestOf(id)
    const facts = factsOf(value)
    const found = this.#bySubmodel.get(key)
    if (found === undefined) {
      this.#early.set(key, facts)
      return []
    }
    this.#bySubmodel.delete(key)
    const shells = [found].flat()
    for (const shell of shells) {
      shell.missing -= 1
      shell.facts = { ...facts, ...shell.facts }
    }
    return shells.filter(({ missing }) => missing === 0).map((shell) => this.#row(shell))
  }

  /** Returns the rows of the shells whose submodels are not in the package. */
  end(): AasxRow[] {
    const waiting = new Set([...this.#bySubmodel.values()].flat())
    const rows = [...waiting].map((shell) => this.#row(shell))
    if (this.#rows === 0)
      throw new Problem(
        'file_without_rows',
        'The package contains no Asset Administration Shell of an asset instance. Export a package with at least one instance',
      )
    return rows
  }

  #row(shell: Shell): AasxRow {
    this.#rows += 1
    const { document } = shell.facts
    const content = document === undefined ? cellsOf(shell) : exportedDocument(shell, document)
    requireSize(content, this.#rows)
    return Array.isArray(content) ? { row: this.#rows, cells: content } : { row: this.#rows, document: content }
  }
}

/** The facts of a shell before its first submodel. */
const noFacts: SubmodelFacts = {}

function digestOf(id: string): string {
  return hash('sha256', id, 'buffer').toString('latin1', 0, 16)
}

/** Limits a row in the same way as a row of a table or a line of an NDJSON file. */
function requireSize(content: readonly string[] | AssetDocument, row: number): void {
  const { cellCharacters, lineCharacters } = importLimits
  const isCells = Array.isArray(content)
  const isTooLarge = isCells
    ? content.some((cell) => cell.length > cellCharacters)
    : JSON.stringify(content).length > lineCharacters
  if (!isTooLarge) return
  const detail = isCells ? `a value with more than ${cellCharacters}` : `more than ${lineCharacters}`
  throw new Problem('file_too_large', `Shell ${row} has ${detail} characters. Remove the shell from the package`)
}

function submodelIds(shell: AssetDocument): string[] {
  return objectsIn(shell, 'submodels').flatMap((reference) => textIn(objectsIn(reference, 'keys')[0], 'value') ?? [])
}

function factsOf(submodel: AssetDocument): SubmodelFacts {
  const elements = elementsOf(submodel.submodelElements)
  const name = `${semanticIdOf(submodel)} ${textIn(submodel, 'idShort') ?? ''}`
  if (/software/i.test(name)) return {}
  if (/nameplate/i.test(name)) return { nameplate: readNameplate(elements) }
  if (!/technical.?data|AHX837/i.test(name)) return {}
  const general = elements.find(({ idShort }) => idShort === 'GeneralInformation')
  const areas = elements.find(({ idShort }) => idShort === 'TechnicalPropertyAreas')
  const sections = elementsOf(areas?.value).flatMap((area) => elementsOf(area.value))
  const contentOf = (id: string) => sections.find((section) => semanticIdOf(section) === id)
  const document = contentOf(assetDocumentId)
  const relations = contentOf(relationsId)
  return {
    technicalData: readNameplate(elementsOf(general?.value)),
    ...(document === undefined ? {} : { document: objectContent(document) }),
    ...(relations === undefined ? {} : { relations: objectsIn({ relations: documentOf(relations) }, 'relations') }),
  }
}

function objectContent(element: Element): AssetDocument {
  const content = documentOf(element)
  return isObject(content) ? content : {}
}

function semanticIdOf(element: AssetDocument): string {
  return textIn(objectsIn(objectIn(element, 'semanticId'), 'keys')[0], 'value') ?? ''
}

type SpecificValues = { serialNumber?: string; articleNumber?: string; mac?: string }

/** The names of specific asset ids, in lower case, with the fields that they state. */
const specificNames: ReadonlyMap<string, keyof SpecificValues> = new Map([
  ['serialnumber', 'serialNumber'],
  ['partinstanceid', 'serialNumber'],
  ['articlenumber', 'articleNumber'],
  ['manufacturerpartid', 'articleNumber'],
  ['ordernumber', 'articleNumber'],
  ['macaddress', 'mac'],
  ['mac', 'mac'],
])

/** Returns the values of the specific asset ids that are fields of an asset. */
function specificValues(entries: readonly AssetDocument[]): SpecificValues {
  const values: SpecificValues = {}
  for (const entry of entries) {
    const name = specificNames.get((textIn(entry, 'name') ?? '').toLowerCase().replace(/[^a-z]/g, ''))
    const value = textIn(entry, 'value')
    if (name !== undefined && value !== undefined) values[name] ??= value
  }
  return values
}

/** Returns the cells of a shell of another program. */
function cellsOf({ name, description, specific, facts }: Shell): string[] {
  const { nameplate = {}, technicalData = {} } = facts
  const value = (key: keyof NameplateValues) => nameplate[key] ?? technicalData[key]
  const cells: Record<(typeof cellTargets)[number], string | undefined> = {
    name,
    description,
    manufacturer: value('manufacturer'),
    product: value('product'),
    order_number: value('orderCode') ?? value('articleNumber') ?? specific.articleNumber,
    serial_number: value('serialNumber') ?? specific.serialNumber,
    hardware_version: value('hardwareVersion'),
    firmware_version: value('firmwareVersion'),
    mac_address: specific.mac,
  }
  return cellTargets.map((target) => cells[target] ?? '')
}

/** Returns the document of an asset that this platform exported, with later changes of its shell and its nameplate. */
function exportedDocument({ name, isNamed, description, facts }: Shell, document: AssetDocument): AssetDocument {
  const { nameplate = {}, relations = [] } = facts
  const isChanged = (field: string, value: string | undefined, characters: number) =>
    value !== undefined && value !== limitedText(textIn(document, field) ?? '', characters)
  const parent = relations.find(
    ({ role, predicate }) => role === 'subject' && parentPredicates.some((known) => known === predicate),
  )
  const parentId = textIn(parent, 'related_asset')?.split(':').at(-1)
  return {
    ...(parentId === undefined ? {} : { parent: parentId }),
    ...withNameplateChanges(document, nameplate),
    ...(isNamed && isChanged('name', name, nameCharacters) ? { name } : {}),
    ...(isChanged('description', description, textCharacters) ? { description } : {}),
  }
}
