import { deletion } from './delete.ts'
import { importRows } from './import-rows.ts'
import { merge, undoMerge } from './merge.ts'
import { patch } from './patch.ts'
import { put, putMany, putWhole } from './put.ts'
import { split } from './split.ts'
import type { Needs, Payloads, Write, WriteKind } from './write.ts'
import type { KindRules, Writing } from './writing.ts'

/** The rules of every kind of write. */
const kinds: { readonly [Kind in WriteKind]: KindRules<Payloads[Kind]> } = {
  put,
  'put-many': putMany,
  'put-whole': putWhole,
  'import-rows': importRows,
  patch,
  delete: deletion,
  merge,
  'undo-merge': undoMerge,
  split,
}

export function isAlone({ kind }: { kind: WriteKind }): boolean {
  return kinds[kind].isAlone
}

export function needsOf<Kind extends WriteKind>({ kind, payload }: Write<Kind>): Needs {
  return kinds[kind].needs(payload)
}

export function applyWrite<Kind extends WriteKind>(writing: Writing, { kind, payload }: Write<Kind>): Promise<unknown> {
  return kinds[kind].apply(writing, payload)
}
