import type { AssetDocument } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'

export const itemLists = ['assetAdministrationShells', 'submodels'] as const
export type ItemList = (typeof itemLists)[number]

/** A shell or a submodel of an environment, as an object of the JSON serialization. */
export type EnvironmentItem = { list: ItemList; value: AssetDocument }

/** The limits of an environment. A submodel is read as a whole, so its size is limited. */
export const environmentLimits = { itemCharacters: 16 * 1024 * 1024, depth: 64 } as const

export function damaged(reason: string): Problem {
  return new Problem(
    'damaged_file',
    `The environment of the package cannot be read: ${reason}. Export the package again`,
  )
}

export function itemTooLarge(): Problem {
  const { itemCharacters, depth } = environmentLimits
  const detail = `A submodel has more than ${itemCharacters} characters, or more than ${depth} levels`
  return new Problem('file_too_large', `${detail}. Remove the submodel from the package`)
}
