import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type BaseSchema, checkSchema, draftOf, invalidSchema, schemaLimits } from './check.ts'
import { expandedSize } from './expansion.ts'
import { LinearPattern } from './pattern.ts'
import { type TimeLimit, TookTooLong, within } from './time-limit.ts'

/** Time limits for compiling a schema of a tenant, and for validating one value with it. */
export type SchemaTime = { compile: TimeLimit; check: TimeLimit }

const workerTime: SchemaTime = {
  compile: { milliseconds: 5_000, patience: 16 },
  check: { milliseconds: 250, patience: 16 },
}

/** The maximum number of errors that are returned for one value. */
const returnedErrors = 200

/** Validates a value and returns its errors. */
export type Check = (value: unknown) => readonly ErrorObject[]

/** The keyword of the error `too_long`. It is the only error of a value that takes too long to validate. */
export const tooLong = 'too_long'

/**
 * Compiles a schema of a tenant. Throws `invalid_schema` with the reason if the schema cannot be compiled. The returned
 * check reports only the error `too_long` for a value that takes too much time.
 */
export function compileSchema(schema: JsonSchema, base?: BaseSchema, time: SchemaTime = workerTime): Check {
  const checked = checkSchema(schema, base)
  const meta = metaSchemas[draftOf(checked)]()
  const validate = compiledWithin(time.compile, () => compileOwn(checked, { meta, base }))
  return (value) => {
    try {
      return within(time.check, () => errorsIn(validate, value)).slice(0, returnedErrors)
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error
      return [tooLongError]
    }
  }
}

export const tooLongError: ErrorObject = {
  instancePath: '',
  schemaPath: '',
  keyword: tooLong,
  params: {},
  message: 'takes too long to validate with its schema',
}

/**
 * Throws `invalid_schema` if the schema cannot be used. To find out, it compiles the schema and validates a trial
 * value.
 */
export function requireUsable(
  schema: JsonSchema,
  { base, trial }: { base?: BaseSchema | undefined; trial: unknown },
): void {
  const { expandedSize: limit, documentDepth: depth } = schemaLimits
  const size = expandedSize(checkSchema(schema, base), { base, depth, limit })
  if (size === Number.POSITIVE_INFINITY) throw invalidSchema('', 'contains an infinite loop of references')
  if (size > limit) {
    const advice = 'remove references that repeat each other or recurse more than once'
    throw invalidSchema('', `has more than ${limit} subschemas after its references are expanded: ${advice}`)
  }
  const check = compileSchema(schema, base)
  if (check(trial).some(({ keyword }) => keyword === tooLong))
    throw invalidSchema('', 'takes too long to validate a value')
}

export function errorsIn(validate: ValidateFunction, value: unknown): readonly ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? [])
}

/**
 * The validators of the meta-schemas. They are created at first use, because this takes time and many installations
 * have no uploaded schemas.
 */
const metaSchemas = { '2019-09': once(() => metaSchema(Ajv2019)), '2020-12': once(() => metaSchema(Ajv2020)) } as const

/** Creates a validator for the meta-schema of a draft. */
function metaSchema(Compiler: typeof Ajv2019 | typeof Ajv2020): Ajv2019 | Ajv2020 {
  const ajv = schemaCompiler(Compiler)
  ajv.validateSchema({})
  return ajv
}

export function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

function compiledWithin(time: TimeLimit, compile: () => ValidateFunction): ValidateFunction {
  try {
    return within(time, compile)
  } catch (error) {
    if (error instanceof Problem) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw invalidSchema(
      '',
      error instanceof TookTooLong
        ? 'is too complex: compiling it exceeds the time limit'
        : `is not a JSON Schema: ${why.slice(0, 500)}`,
    )
  }
}

type Beside = { meta: Ajv2019 | Ajv2020; base: BaseSchema | undefined }

/** Compiles a schema of a tenant with its own compiler, so that names in one schema do not affect another schema. */
function compileOwn(schema: JsonSchema, { meta, base }: Beside): ValidateFunction {
  if (!meta.validateSchema(schema)) throw new Error(meta.errorsText(meta.errors, { dataVar: 'it' }))
  const Compiler = draftOf(schema) === '2019-09' ? Ajv2019 : Ajv2020
  const ajv = schemaCompiler(Compiler, {
    strictSchema: false,
    validateSchema: false,
    logger: false,
    inlineRefs: false,
    code: { regExp: linearPattern },
  })
  if (base !== undefined) ajv.addSchema(base.schema)
  return ajv.compile(schema)
}

function linearPattern(source: string): LinearPattern {
  return new LinearPattern(source)
}
// Ajv needs this property for code that it writes to a file. The product never writes such code.
linearPattern.code = 'linearPattern'

export function schemaCompiler(Compiler: typeof Ajv2019 | typeof Ajv2020, more: Options = {}): Ajv2019 | Ajv2020 {
  const ajv = new Compiler({ allErrors: true, verbose: true, strictTypes: false, ...more })
  // The package is CommonJS: its function is `default.default`.
  ;(addFormats as unknown as { default: typeof addFormats.default }).default(ajv)
  return ajv
}
