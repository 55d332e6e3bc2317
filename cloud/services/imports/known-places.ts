import type { Problem } from '@millwright/api/problem.ts'

/** A parent is an asset, or a row of the same file whose asset may not exist yet. */
export type ParentPlace = { assetId: string } | { row: number } | Problem
export type NodePlace = { hierarchyId: string; nodeId: string } | Problem

/** The places that the rows of a file name, by their texts. */
export type KnownPlaces = { parents: Map<string, ParentPlace>; nodes: Map<string, NodePlace> }
