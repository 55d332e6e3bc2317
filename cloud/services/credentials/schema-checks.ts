import type { JsonSchema } from '@millwright/api/asset-schema.ts'
import type { FieldError } from '@millwright/api/problem.ts'
import type { PlainObject } from '../../platform/plain-object.ts'
import { type Check, compileSchema, requireUsable } from '../../platform/uploaded-schemas/compile.ts'
import { fieldErrors } from '../../platform/validation.ts'
import { SecretFields } from './secret-fields.ts'
import { invalidValues, type Known, requireSendable } from './values.ts'

/** How many schemas are kept ready. */
const ready = 64

type Ready = { check: Check; secrets: SecretFields }
type Source = { id: string; version: number; schema: JsonSchema }

/** Schemas compiled when they are first used. An uploaded schema never changes without its version doing so. */
export class SchemaChecks {
  /** Least recently used first. */
  readonly #ready = new Map<string, Ready>()

  /** The values and what of them is shown; throws `invalid_values`, which tells places and never values. */
  accept(source: Source, values: PlainObject): Known {
    requireSendable(values)
    const { check, secrets } = this.#of(source)
    const faults: FieldError[] = fieldErrors(check(values))
    if (faults.length > 0) throw invalidValues(faults)
    return { values, shown: secrets.shown(values) }
  }

  #of({ id, version, schema }: Source): Ready {
    const key = `${id} ${version}`
    const found = this.#ready.get(key) ?? { check: compileSchema(schema), secrets: new SecretFields(schema) }
    this.#ready.delete(key)
    this.#ready.set(key, found)
    if (this.#ready.size > ready) this.#ready.delete(this.#ready.keys().next().value ?? '')
    return found
  }
}

/** Throws `invalid_schema`, which says why, unless the schema can be used. */
export function requireUsableSchema(schema: JsonSchema): void {
  requireUsable(schema, { trial: {} })
}
