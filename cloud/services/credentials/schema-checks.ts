import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import type { FieldError } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import type { PlainObject } from '../../platform/plain-object.ts'
import { requireUsableSchema as requireUsable, UploadedSchema } from '../../platform/uploaded-schemas/validator.ts'
import { fieldErrors } from '../../platform/validation.ts'
import { SecretFields } from './secret-fields.ts'
import { invalidValues, requireSendable, type StoredValues } from './values.ts'

const mostCompiled = 64

type CompiledSchema = { uploaded: UploadedSchema; secrets: SecretFields }
type Source = { id: string; version: number; schema: JsonSchema }

/**
 * `SchemaChecks` compiles a schema when it is first used and caches the result. The cache key contains the version of
 * the schema, so an updated schema is compiled again.
 */
export class SchemaChecks {
  readonly #ready = new LruMap<CompiledSchema>(mostCompiled)

  /**
   * Validates values against a schema. Returns the values, and the same values with placeholders instead of secrets.
   * Throws `invalid_values`, which names the invalid fields but never contains values.
   */
  async accept(tenantId: string, source: Source, values: PlainObject): Promise<StoredValues> {
    requireSendable(values)
    const { uploaded, secrets } = this.#of(tenantId, source)
    const faults: FieldError[] = fieldErrors((await uploaded.errorsOf([values]))[0] ?? [])
    if (faults.length > 0) throw invalidValues(faults)
    return { values, shown: secrets.shown(values) }
  }

  #of(tenantId: string, { id, version, schema }: Source): CompiledSchema {
    const key = `${id} ${version}`
    const cached = this.#ready.get(key) ?? {
      uploaded: new UploadedSchema({ tenantId, schema }),
      secrets: new SecretFields(schema),
    }
    this.#ready.set(key, cached)
    return cached
  }
}

/** Throws `invalid_schema` with the reason when the schema cannot be used to validate credentials. */
export function requireUsableSchema(tenantId: string, schema: JsonSchema): Promise<void> {
  return requireUsable(tenantId, schema, { trial: {} })
}
