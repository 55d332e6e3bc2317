import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import type { FieldError } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import type { PlainObject } from '../../platform/plain-object.ts'
import { requireUsableSchema as requireUsable, UploadedSchema } from '../../platform/uploaded-schemas/validator.ts'
import { fieldErrors } from '../../platform/validation.ts'
import { SecretFields } from './secret-fields.ts'
import { invalidValues, type Known, requireSendable } from './values.ts'

const mostReady = 64

type Ready = { uploaded: UploadedSchema; secrets: SecretFields }
type Source = { id: string; version: number; schema: JsonSchema }

/** Schemas compiled when they are first used. An uploaded schema never changes without its version doing so. */
export class SchemaChecks {
  readonly #ready = new LruMap<Ready>(mostReady)

  /** The values and the part of them that is shown. Throws `invalid_values`, which names fields and never values. */
  async accept(tenantId: string, source: Source, values: PlainObject): Promise<Known> {
    requireSendable(values)
    const { uploaded, secrets } = this.#of(tenantId, source)
    const faults: FieldError[] = fieldErrors((await uploaded.errorsOf([values]))[0] ?? [])
    if (faults.length > 0) throw invalidValues(faults)
    return { values, shown: secrets.shown(values) }
  }

  #of(tenantId: string, { id, version, schema }: Source): Ready {
    const key = `${id} ${version}`
    const found = this.#ready.get(key) ?? {
      uploaded: new UploadedSchema({ tenantId, schema }),
      secrets: new SecretFields(schema),
    }
    this.#ready.set(key, found)
    return found
  }
}

/** Throws `invalid_schema`, with the reason, unless the schema can be used. */
export function requireUsableSchema(tenantId: string, schema: JsonSchema): Promise<void> {
  return requireUsable(tenantId, schema, { trial: {} })
}
