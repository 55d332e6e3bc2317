import {
  type AssetType,
  assetSchema,
  assetTypeOf,
  assetTypes,
  baseSchemaId,
  baseSchemaUrl,
  type JsonSchema,
} from '@millwright/api/asset-schema.ts'
import type { FieldError } from '@millwright/api/problem.ts'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { LruMap } from 'toad-cache'
import type { Handle as DatabaseHandle } from '../../../platform/database/database.ts'
import { createYield } from '../../../platform/event-loop.ts'
import type { BaseSchema } from '../../../platform/uploaded-schemas/check.ts'
import { errorsIn, once, schemaCompiler, tooLong } from '../../../platform/uploaded-schemas/compile.ts'
import { requireUsableSchema, UploadedSchema } from '../../../platform/uploaded-schemas/validator.ts'
import { fieldErrors } from '../../../platform/validation.ts'
import { writeShape } from '../assets/asset.ts'
import type { PlainObject } from '../assets/document.ts'

/** The public addresses of the base schema that existing links send: both hosts, every released version, any class. */
const baseSchemaUrls =
  /^https:\/\/(?:schema\.)?industrial-assets\.io\/(?:schemas\/iah\/base-schema\/released|base)\/v\d+(?:\.\d+){0,2}(?:\/(?:iah-)?[A-Za-z]+(?:\.schema)?(?:\.json)?)?\/?#?$/

export function isBuiltInUrl(url: string): boolean {
  return url === baseSchemaId || baseSchemaUrls.test(url)
}

/** The schemas that every tenant has. */
export const builtInSchemas: readonly { url: string; title: string; schema: JsonSchema }[] = [
  { url: baseSchemaUrl, title: String(assetSchema.title), schema: assetSchema },
]

/** How many schemas of tenants are kept ready. */
const mostReady = 64

/** The base schema with other fields beside the known ones; of no draft, because it means the same in both. */
const openSchema = opened(assetSchema)

/** What the schemas of tenants may refer to. */
const base: BaseSchema = { id: baseSchemaId, schema: openSchema, urls: baseSchemaUrls }

/** Made when they are first used: it takes a while, and not every process has assets. */
const closedBase = once(() => schemaCompiler(Ajv2020, { validateSchema: false }).compile(assetSchema))
const openBase = once(() => schemaCompiler(Ajv2020, { validateSchema: false }).compile(openSchema))

function opened({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  const open = (name: string, value: unknown) =>
    name === 'additionalProperties' && value === false ? undefined : value
  return JSON.parse(JSON.stringify(schema), open)
}

type Loading<Handle> = (handle: Handle, url: string) => Promise<{ schema: JsonSchema } | undefined>

/**
 * The schemas of all tenants, compiled when they are first used. An asset that names a schema of its tenant fits both
 * that and the base schema; what the base schema does not know is then left to the other. Stored schemas never change.
 */
export class SchemaRegistry<Handle extends { readonly tenantId: string } = DatabaseHandle> {
  readonly #load: Loading<Handle>
  readonly #ready = new LruMap<UploadedSchema>(mostReady)

  constructor({ load }: { load: Loading<Handle> }) {
    this.#load = load
  }

  /**
   * The faults of an asset that is sent, by pointers into it. It may be an update that sends some fields of an existing
   * asset, so required fields of a tenant's schema are checked in the result.
   */
  async faultsOfWrite(handle: Handle, asset: PlainObject): Promise<FieldError[]> {
    return (await this.faultsOfWrites(handle, [asset]))[0] ?? []
  }

  /** The faults of each asset of a batch. Assets with the same schema are validated together. */
  async faultsOfWrites(handle: Handle, assets: readonly PlainObject[]): Promise<FieldError[][]> {
    const faults: FieldError[][] = []
    const bySchema = new Map<UploadedSchema, number[]>()
    const yieldTurn = createYield()
    for (const [index, asset] of assets.entries()) {
      await yieldTurn()
      const own = await this.#own(handle, asset)
      if (own === 'base') faults[index] = faultsIn(closedBase(), asset)
      else if (own === undefined) faults[index] = [schemaNotFound]
      else if (!bySchema.get(own)?.push(index)) bySchema.set(own, [index])
    }
    for (const [own, places] of bySchema) {
      const errors = await own.errorsOf(places.map((index) => assets[index]))
      for (const [place, index] of places.entries()) {
        const ofOwn = named(errors[place] ?? []).filter((error) => !isMissingField(error))
        faults[index] = [...faultsIn(openBase(), assets[index] ?? {}), ...fieldErrors(ofOwn)]
      }
    }
    return faults
  }

  /**
   * The faults of an asset as it would be stored. Its identifiers were validated when they were sent, and so was the
   * whole asset when it is stored as it was sent: then only the required fields of a tenant's schema are left to check.
   */
  async faultsOf(handle: Handle, stored: PlainObject, { asSent = false } = {}): Promise<FieldError[]> {
    const own = await this.#own(handle, stored)
    if (own === undefined) return [schemaNotFound]
    if (own === 'base' && asSent) return []
    const asset = writeShape(stored)
    const identified = { ...asset, asset_identifiers: anyIdentifiers }
    const errors =
      own === 'base'
        ? errorsIn(closedBase(), identified)
        : [...errorsIn(openBase(), identified), ...named((await own.errorsOf([asset]))[0] ?? [])]
    return fieldErrors(errors.filter((error) => !isAboutIdentifiers(error)))
  }

  async #own(
    handle: Handle,
    { functional_object_schema_url: url }: PlainObject,
  ): Promise<UploadedSchema | 'base' | undefined> {
    // What is no text is for the base schema to refuse.
    if (typeof url !== 'string' || isBuiltInUrl(url)) return 'base'
    const key = `${handle.tenantId} ${url}`
    const found = this.#ready.get(key) ?? (await this.#find(handle, url))
    if (found === undefined) return undefined
    this.#ready.set(key, found)
    return found
  }

  async #find(handle: Handle, url: string): Promise<UploadedSchema | undefined> {
    const row = await this.#load(handle, url)
    if (row === undefined) return undefined
    return new UploadedSchema({ tenantId: handle.tenantId, schema: row.schema, base })
  }
}

/** An error about the schema itself points to the field that names the schema. */
function named(errors: readonly ErrorObject[]): ErrorObject[] {
  return errors.map((error) => (error.keyword === tooLong ? tooLongError : error))
}

function isMissingField({ keyword, instancePath }: ErrorObject): boolean {
  return keyword === 'required' && instancePath === ''
}

const schemaNotFound: FieldError = {
  pointer: '/functional_object_schema_url',
  code: 'schema_not_found',
  detail: 'names a schema that is not registered: nothing is fetched, POST /schemas adds one',
}

/** In place of those that are kept elsewhere: a fault that is always there would have to be made and thrown away. */
const anyIdentifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'any', value: 'any' }]

function isAboutIdentifiers({ instancePath, params }: ErrorObject): boolean {
  const missing = instancePath === '' && params.missingProperty === 'asset_identifiers'
  return missing || instancePath === '/asset_identifiers' || instancePath.startsWith('/asset_identifiers/')
}

function faultsIn(validate: ValidateFunction, asset: PlainObject): FieldError[] {
  return fieldErrors(errorsIn(validate, asset))
}

const tooLongError: ErrorObject = {
  instancePath: '/functional_object_schema_url',
  schemaPath: '',
  keyword: tooLong,
  params: {},
  message: 'names a schema that takes too long for this asset',
}

/** Throws `invalid_schema`, with the reason, unless the schema can be used. */
export function checkSchema(tenantId: string, schema: JsonSchema): Promise<void> {
  const trial = { functional_object_type: 'Device', asset_identifiers: [] }
  return requireUsableSchema(tenantId, schema, { base, trial })
}

/** A functional object type as it is stored, whatever its case; or what is wrong with it. */
export function normaliseType(value: unknown): AssetType | FieldError {
  const detail = `must be one of ${assetTypes.join(', ')}`
  return assetTypeOf(value) ?? { pointer: '/functional_object_type', code: 'enum', detail }
}
