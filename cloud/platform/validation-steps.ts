import type { ErrorObject } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { createYield } from './event-loop.ts'
import { isObject, type PlainObject } from './plain-object.ts'

/**
 * Validation of a body with a very long list in steps, so that it does not block the event loop. Each step validates the
 * body with a part of the list.
 */

/** The number of entries that one step validates. Only lists that can be longer are validated in steps. */
const entriesPerStep = 50
/** Lists with a lower limit are validated at once, because that is fast enough. */
const longListItems = 10_000

type ObjectSchema = {
  type?: string
  properties?: Record<string, ObjectSchema>
  items?: ObjectSchema
  maxItems?: number
  uniqueItems?: boolean
}

type LongList = { name: string; maxItems: number }

/** Returns the member of `data` that is a very long list of objects. */
export function longListIn(body: TSchema): LongList | undefined {
  const members = (body as ObjectSchema).properties?.data?.properties ?? {}
  return Object.entries(members)
    .map(([name, { items, maxItems = 0, uniqueItems = false }]) => ({ name, items, maxItems, uniqueItems }))
    .find(({ items, maxItems, uniqueItems }) => maxItems >= longListItems && items?.type === 'object' && !uniqueItems)
}

type BodyInSteps = { body: PlainObject; data: PlainObject; name: string; entries: readonly unknown[] }

/** Returns the parts of a body if its list needs several steps. A list that is too long is refused without steps. */
export function bodyInSteps(body: unknown, list: LongList | undefined): BodyInSteps | undefined {
  if (list === undefined || !isObject(body) || !isObject(body.data)) return undefined
  const { name, maxItems } = list
  const entries = Object.hasOwn(body.data, name) ? body.data[name] : undefined
  if (!Array.isArray(entries) || entries.length <= entriesPerStep || entries.length > maxItems) return undefined
  return { body, data: body.data, name, entries }
}

type StepOptions = {
  tenantId: string
  errorsIn: (body: unknown) => readonly ErrorObject[]
  /** The number of entries after a step in which further errors are reported. */
  examinedEntries: number
}

/** Validates a body in steps. Returns the errors of the first step that has errors, and the body with its defaults. */
export async function validateInSteps(
  { body, data, name, entries }: BodyInSteps,
  { tenantId, errorsIn, examinedEntries }: StepOptions,
): Promise<{ errors: readonly ErrorObject[]; body: unknown }> {
  const yieldTurn = createYield(tenantId)
  // The validator sets the defaults in this copy.
  const copy = { ...data }
  const errorsBetween = (start: number, end: number) =>
    errorsIn({ ...body, data: Object.assign(copy, { [name]: entries.slice(start, end) }) })
  for (let start = 0; start < entries.length; start += entriesPerStep) {
    if (errorsBetween(start, start + entriesPerStep).length > 0) {
      const errors = errorsBetween(start, start + entriesPerStep + examinedEntries)
      return { errors: errors.map((error) => moved(error, `/data/${name}/`, start)), body }
    }
    await yieldTurn()
  }
  return { errors: [], body: { ...body, data: { ...copy, [name]: entries } } }
}

/** Adds the start of a step to the index of an entry in the path of an error. */
function moved(error: ErrorObject, list: string, start: number): ErrorObject {
  if (!error.instancePath.startsWith(list)) return error
  const [index = '', ...rest] = error.instancePath.slice(list.length).split('/')
  return { ...error, instancePath: list + [Number(index) + start, ...rest].join('/') }
}
