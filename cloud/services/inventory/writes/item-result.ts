import { type FieldError, Problem, type ProblemCode, type ProblemDocument } from '@millwright/api/problem.ts'
import { isTransient } from '../../../platform/database/transient.ts'

/**
 * An item that was refused when its bulk write was accepted. The status of the write contains the problem as the result
 * of the item.
 */
export type RefusedItem = { refused: { code: ProblemCode; detail: string; errors?: readonly FieldError[] } }

export function isRefused(item: object): item is RefusedItem {
  return 'refused' in item
}

/** Returns the items that were not refused. */
export function acceptedItems<Item extends object>(items: readonly (Item | RefusedItem)[]): Item[] {
  return items.filter((item): item is Item => !isRefused(item))
}

/** Checks one item of a bulk write. A fault of the item becomes its result; other errors fail the whole request. */
export async function itemOrRefusal<Item>(check: () => Item | Promise<Item>): Promise<Item | RefusedItem> {
  try {
    return await check()
  } catch (error) {
    return refusedItem(refusalOf(error))
  }
}

/**
 * Returns the reason why a write, or one of its items, is refused. It rethrows other errors. A transient error is not
 * caused by the write, so the write stays queued.
 */
export function refusalOf(error: unknown): Problem {
  if (!(error instanceof Problem) || isTransient(error)) throw error
  return error
}

export function refusedItem({ code, message: detail, errors }: Problem): RefusedItem {
  return { refused: { code, detail, ...(errors === undefined ? {} : { errors }) } }
}

export function refusedResult({ refused }: RefusedItem, traceId: string): ProblemDocument {
  const { code, detail, errors } = refused
  return new Problem(code, detail, errors === undefined ? {} : { errors: [...errors] }).toDocument({ traceId })
}

/** Returns whether a result is a problem document. */
export function isFailure(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'code' in result && 'status' in result
}
