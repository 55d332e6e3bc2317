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
import type { Handle as DatabaseHandle } from '../../platform/database/database.ts'
import type { BaseSchema } from '../../platform/uploaded-schemas/check.ts'
import {
  type Check,
  compileSchema,
  errorsIn,
  once,
  requireUsable,
  schemaCompiler,
  tooLong,
} from '../../platform/uploaded-schemas/compile.ts'
import { fieldErrors } from '../../platform/validation.ts'
import { writeShape } from './asset.ts'
import type { PlainObject } from './document.ts'

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
const limits = { ready: 64 } as const

/** The base schema with other fields beside the known ones; of no draft, because it means the same in both. */
const openSchema = opened(assetSchema)

/** What the schemas of tenants may refer to. */
const base: BaseSchema = { id: baseSchemaId, schema: openSchema, isNamed: isBuiltInUrl }

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
  /** Least recently used first. */
  readonly #ready = new Map<string, Check>()

  constructor({ load }: { load: Loading<Handle> }) {
    this.#load = load
  }

  /**
   * What is wrong with an asset that is sent, by pointers into it. It may be an update that sends a few fields of an
   * asset that has the others, so what a tenant's schema wants to be there is looked for in the result.
   */
  async faultsOfWrite(handle: Handle, asset: PlainObject): Promise<FieldError[]> {
    const own = await this.#own(handle, asset)
    if (own === 'base') return faultsIn(closedBase(), asset)
    if (own === undefined) return [schemaNotFound]
    const missing = (error: ErrorObject) => error.keyword === 'required' && error.instancePath === ''
    return [...faultsIn(openBase(), asset), ...fieldErrors(own(asset).filter((error) => !missing(error)))]
  }

  /**
   * What is wrong with an asset as it would be stored. Its identifiers were looked at when they were sent, and so was
   * all of it when it is just what was sent: then only what a tenant's schema wants to be there is left to look for.
   */
  async faultsOf(handle: Handle, stored: PlainObject, { asSent = false } = {}): Promise<FieldError[]> {
    const own = await this.#own(handle, stored)
    if (own === undefined) return [schemaNotFound]
    if (own === 'base' && asSent) return []
    const asset = writeShape(stored)
    const identified = { ...asset, asset_identifiers: anyIdentifiers }
    const errors =
      own === 'base' ? errorsIn(closedBase(), identified) : [...errorsIn(openBase(), identified), ...own(asset)]
    return fieldErrors(errors.filter((error) => !isAboutIdentifiers(error)))
  }

  async #own(handle: Handle, { functional_object_schema_url: url }: PlainObject): Promise<Check | 'base' | undefined> {
    // What is no text is for the base schema to refuse.
    if (typeof url !== 'string' || isBuiltInUrl(url)) return 'base'
    const key = `${handle.tenantId} ${url}`
    const check = this.#ready.get(key) ?? (await this.#compile(handle, url))
    if (check === undefined) return undefined
    this.#ready.delete(key)
    this.#ready.set(key, check)
    if (this.#ready.size > limits.ready) this.#ready.delete(this.#ready.keys().next().value ?? '')
    return check
  }

  async #compile(handle: Handle, url: string): Promise<Check | undefined> {
    const found = await this.#load(handle, url)
    if (found === undefined) return undefined
    const check = compileSchema(found.schema, base)
    return (asset) => check(asset).map((error) => (error.keyword === tooLong ? tooLongError : error))
  }
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

/** Throws `invalid_schema`, which says why, unless the schema can be used. */
export function checkSchema(schema: JsonSchema): void {
  requireUsable(schema, { base, trial: { functional_object_type: 'Device', asset_identifiers: [] } })
}

/** A functional object type as it is stored, whatever its case; or what is wrong with it. */
export function normaliseType(value: unknown): AssetType | FieldError {
  const detail = `must be one of ${assetTypes.join(', ')}`
  return assetTypeOf(value) ?? { pointer: '/functional_object_type', code: 'enum', detail }
}
