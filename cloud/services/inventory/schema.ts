import {
  type AssetType,
  assetSchema,
  assetTypeOf,
  assetTypes,
  baseSchemaUrl,
  type JsonSchema,
} from '@millwright/api/asset-schema.ts'
import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Handle as DatabaseHandle } from '../../platform/database/database.ts'
import { fieldErrors } from '../../platform/validation.ts'
import { writeShape } from './asset.ts'
import type { PlainObject } from './document.ts'
import { LinearPattern } from './pattern.ts'
import { checkSchema as checkShape, draftOf, isBuiltInUrl, refused } from './schema-check.ts'
import { TookTooLong, within } from './time-limit.ts'

export { isBuiltInUrl } from './schema-check.ts'

/** The schemas that every tenant has. */
export const builtInSchemas: readonly { url: string; title: string }[] = [
  { url: baseSchemaUrl, title: String(assetSchema.title) },
]

/** How many schemas of tenants are kept ready, and how long those may take. */
const limits = { ready: 64, compileMs: 2_000, checkMs: 250 } as const

/** The base schema with other fields beside the known ones; of no draft, because it means the same in both. */
const openSchema = opened(assetSchema)

/** What is made when it is first used: it takes a while, and not every installation has assets and schemas of its own. */
const metaSchemas = { '2019-09': once(() => metaSchema(Ajv2019)), '2020-12': once(() => metaSchema(Ajv2020)) } as const
const closedBase = once(() => compiler(Ajv2020, { validateSchema: false }).compile(assetSchema))
const openBase = once(() => compiler(Ajv2020, { validateSchema: false }).compile(openSchema))

/** Ready to say whether something is a schema of a draft. */
function metaSchema(Compiler: typeof Ajv2019 | typeof Ajv2020): Ajv2019 | Ajv2020 {
  const ajv = compiler(Compiler)
  ajv.validateSchema({})
  return ajv
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

function opened({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  const open = (name: string, value: unknown) =>
    name === 'additionalProperties' && value === false ? undefined : value
  return JSON.parse(JSON.stringify(schema), open)
}

/** What is wrong with an asset, as errors of the validator. */
type Check = (asset: PlainObject) => readonly ErrorObject[]

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
    return found === undefined ? undefined : compiled(found.schema)
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

function errorsIn(validate: ValidateFunction, asset: PlainObject): readonly ErrorObject[] {
  return validate(asset) ? [] : (validate.errors ?? [])
}

function faultsIn(validate: ValidateFunction, asset: PlainObject): FieldError[] {
  return fieldErrors(errorsIn(validate, asset))
}

/** Throws `invalid_schema`, which says why, unless the schema can be used. */
export function checkSchema(schema: JsonSchema): void {
  const check = compiled(schema)
  // One that refers to itself without getting anywhere fails with whatever it looks at.
  if (check(trial).some(({ keyword }) => keyword === tooLong)) throw refused('', 'refers to itself without end')
}

const trial = { functional_object_type: 'Device', asset_identifiers: [] }

const tooLong = 'too_long'

/** A schema of a tenant, ready to be used, never for longer than it may take. */
function compiled(schema: JsonSchema): Check {
  const checked = checkShape(schema)
  const meta = metaSchemas[draftOf(checked)]()
  const validate = compiledWithin(limits.compileMs, () => compileOwn(checked, meta))
  return (asset) => {
    try {
      return within(limits.checkMs, () => errorsIn(validate, asset))
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error
      return [tooLongError]
    }
  }
}

const tooLongError: ErrorObject = {
  instancePath: '/functional_object_schema_url',
  schemaPath: '',
  keyword: tooLong,
  params: {},
  message: 'names a schema that takes too long for this asset',
}

function compiledWithin(milliseconds: number, compile: () => ValidateFunction): ValidateFunction {
  try {
    return within(milliseconds, compile)
  } catch (error) {
    if (error instanceof Problem) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw refused(
      '',
      error instanceof TookTooLong ? 'is too complicated' : `is not a JSON Schema: ${why.slice(0, 500)}`,
    )
  }
}

/** Each schema of a tenant has a compiler of its own: what one of them says about names is nothing to another. */
function compileOwn(schema: JsonSchema, meta: Ajv2019 | Ajv2020): ValidateFunction {
  if (!meta.validateSchema(schema)) throw new Error(meta.errorsText(meta.errors, { dataVar: 'it' }))
  const Compiler = draftOf(schema) === '2019-09' ? Ajv2019 : Ajv2020
  const ajv = compiler(Compiler, {
    strictSchema: false,
    validateSchema: false,
    logger: false,
    inlineRefs: false,
    code: { regExp: linearPattern },
  })
  return ajv.addSchema(openSchema).compile(schema)
}

function linearPattern(source: string): LinearPattern {
  return new LinearPattern(source)
}
// What the compiler would print if it wrote its code to a file; it never does.
linearPattern.code = 'linearPattern'

function compiler(Compiler: typeof Ajv2019 | typeof Ajv2020, more: Options = {}): Ajv2019 | Ajv2020 {
  const ajv = new Compiler({ allErrors: true, verbose: true, strictTypes: false, ...more })
  // The package is CommonJS: its function is the default export's default.
  ;(addFormats as unknown as { default: typeof addFormats.default }).default(ajv)
  return ajv
}

/** A functional object type as it is stored, whatever its case; or what is wrong with it. */
export function normaliseType(value: unknown): AssetType | FieldError {
  const detail = `must be one of ${assetTypes.join(', ')}`
  return assetTypeOf(value) ?? { pointer: '/functional_object_type', code: 'enum', detail }
}
