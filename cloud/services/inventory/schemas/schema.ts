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

/** Matches the public URLs that links send for the base schema: both hosts, every released version and any class. */
const baseSchemaUrls =
  /^https:\/\/(?:schema\.)?industrial-assets\.io\/(?:schemas\/iah\/base-schema\/released|base)\/v\d+(?:\.\d+){0,2}(?:\/(?:iah-)?[A-Za-z]+(?:\.schema)?(?:\.json)?)?\/?#?$/

export function isBuiltInUrl(url: string): boolean {
  return url === baseSchemaId || baseSchemaUrls.test(url)
}

/** The schemas that are available to every tenant. */
export const builtInSchemas: readonly { url: string; title: string; schema: JsonSchema }[] = [
  { url: baseSchemaUrl, title: String(assetSchema.title), schema: assetSchema },
]

/** The maximum number of compiled tenant schemas in the cache. */
const maxCached = 64

/**
 * The base schema with additional fields allowed. `$schema` is left out, because the schema has the same meaning in
 * both supported drafts.
 */
const openSchema = opened(assetSchema)

/** The schema to which schemas of tenants may refer. */
const base: BaseSchema = { id: baseSchemaId, schema: openSchema, urls: baseSchemaUrls }

/**
 * Returns the compiled base schema, which refuses additional fields. It is compiled on first use, because compiling is
 * slow and not every process validates assets.
 */
const closedBase = once(() => schemaCompiler(Ajv2020, { validateSchema: false }).compile(assetSchema))
const openBase = once(() => schemaCompiler(Ajv2020, { validateSchema: false }).compile(openSchema))

function opened({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  const open = (name: string, value: unknown) =>
    name === 'additionalProperties' && value === false ? undefined : value
  return JSON.parse(JSON.stringify(schema), open)
}

type SchemaLoader<Handle> = (handle: Handle, url: string) => Promise<{ schema: JsonSchema } | undefined>

/**
 * `SchemaRegistry` validates assets against the base schema and the schemas of tenants. An asset that names a schema of its
 * tenant must fit both schemas; the base schema then ignores fields that it does not define. The registry compiles schemas
 * on first use. It caches them, because stored schemas never change.
 */
export class SchemaRegistry<Handle extends { readonly tenantId: string } = DatabaseHandle> {
  readonly #load: SchemaLoader<Handle>
  readonly #compiled = new LruMap<UploadedSchema>(maxCached)

  constructor({ load }: { load: SchemaLoader<Handle> }) {
    this.#load = load
  }

  /**
   * Returns the faults of a sent asset. It does not check the required fields of a tenant's schema, because an update
   * may send only some fields of an existing asset. `faultsOf` checks the required fields of the resulting asset.
   */
  async faultsOfWrite(handle: Handle, asset: PlainObject): Promise<FieldError[]> {
    return (await this.faultsOfWrites(handle, [asset]))[0] ?? []
  }

  /** Returns the faults of each asset of a batch. Assets with the same schema are validated together. */
  async faultsOfWrites(handle: Handle, assets: readonly PlainObject[]): Promise<FieldError[][]> {
    const faults: FieldError[][] = []
    const bySchema = new Map<UploadedSchema, number[]>()
    const yieldTurn = createYield(handle.tenantId)
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
        const ofOwn = withSchemaPointer(errors[place] ?? []).filter((error) => !isMissingField(error))
        faults[index] = [...faultsIn(openBase(), assets[index] ?? {}), ...fieldErrors(ofOwn)]
      }
    }
    return faults
  }

  /**
   * Returns the faults of an asset as it would be stored. Its identifiers were already validated when they were sent. If
   * the asset is stored as it was sent (`asSent`), only the required fields of a tenant's schema are checked.
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
        : [...errorsIn(openBase(), identified), ...withSchemaPointer((await own.errorsOf([asset]))[0] ?? [])]
    return fieldErrors(errors.filter((error) => !isAboutIdentifiers(error)))
  }

  async #own(
    handle: Handle,
    { functional_object_schema_url: url }: PlainObject,
  ): Promise<UploadedSchema | 'base' | undefined> {
    // A URL that is not a string is checked against the base schema, which refuses it.
    if (typeof url !== 'string' || isBuiltInUrl(url)) return 'base'
    const key = `${handle.tenantId} ${url}`
    const schema = this.#compiled.get(key) ?? (await this.#find(handle, url))
    if (schema === undefined) return undefined
    this.#compiled.set(key, schema)
    return schema
  }

  async #find(handle: Handle, url: string): Promise<UploadedSchema | undefined> {
    const row = await this.#load(handle, url)
    if (row === undefined) return undefined
    return new UploadedSchema({ tenantId: handle.tenantId, schema: row.schema, base })
  }
}

/** Returns the errors. An error about the schema itself gets a pointer to the field that names the schema. */
function withSchemaPointer(errors: readonly ErrorObject[]): ErrorObject[] {
  return errors.map((error) => (error.keyword === tooLong ? tooLongError : error))
}

function isMissingField({ keyword, instancePath }: ErrorObject): boolean {
  return keyword === 'required' && instancePath === ''
}

const schemaNotFound: FieldError = {
  pointer: '/functional_object_schema_url',
  code: 'schema_not_found',
  detail:
    'names a schema that is not registered. The platform does not fetch schemas. Register the schema with POST /schemas',
}

/**
 * A valid placeholder for the identifiers, which are not part of the stored document. Without it, each validation would
 * report them as missing.
 */
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
  message: 'names a schema whose validation takes too long for this asset',
}

/** Throws `invalid_schema`, with the reason, unless the schema can be used. */
export function checkSchema(tenantId: string, schema: JsonSchema): Promise<void> {
  const trial = { functional_object_type: 'Device', asset_identifiers: [] }
  return requireUsableSchema(tenantId, schema, { base, trial })
}

/** Returns the functional object type in its stored form, or a fault if the type is unknown. Letter case is ignored. */
export function normaliseType(value: unknown): AssetType | FieldError {
  const detail = `must be one of ${assetTypes.join(', ')}`
  return assetTypeOf(value) ?? { pointer: '/functional_object_type', code: 'enum', detail }
}
