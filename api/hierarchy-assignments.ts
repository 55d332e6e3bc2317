import { type Static, Type } from 'typebox'
import { closed, Timestamp, textPattern, Uuid } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

/** The schemas of assignments, rules and proposals of the hierarchy service. */

/**
 * The outcomes of an assignment for one asset. `moved`: the asset was in another node of the same hierarchy.
 * `unchanged`: the asset was already in this node, or an undo left it where it is. An undo gives the reason in `code`.
 */
export const assignmentOutcomes = ['assigned', 'moved', 'unchanged', 'removed', 'failed'] as const

export const ItemResult = closed({
  assetId: Uuid,
  outcome: oneOf(assignmentOutcomes),
  previousNodeId: Type.Optional(Uuid),
  status: Type.Optional(Type.Integer()),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})
export type ItemResult = Static<typeof ItemResult>

const counts = {
  assigned: Type.Integer(),
  moved: Type.Integer(),
  unchanged: Type.Integer(),
  removed: Type.Integer(),
  failed: Type.Integer(),
}

export const AssignmentResult = closed({
  assignmentId: Uuid,
  ...counts,
  results: Type.Array(ItemResult, { description: 'In the order of the request' }),
})

export const assignmentStates = ['queued', 'running', 'canceling', 'finished', 'failed', 'canceled'] as const

/** The states of an assignment whose counts can still change. */
export const unfinishedStates: readonly (typeof assignmentStates)[number][] = ['queued', 'running', 'canceling']

export const Assignment = closed({
  id: Uuid,
  kind: oneOf(['ids', 'filter', 'rules', 'undo'] as const),
  state: Type.Unsafe<(typeof assignmentStates)[number]>({
    ...oneOf(assignmentStates),
    description:
      'In the state `canceling`, the results of the last assets are not stored yet. The counts no longer change in the states `finished`, `failed` and `canceled`',
  }),
  hierarchyId: Uuid,
  nodeId: Type.Optional(Uuid),
  filter: Type.Optional(Type.String()),
  undoes: Type.Optional(Type.Union([Uuid, Type.Null()])),
  undoneBy: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description:
        'The undo that waits, runs, or has returned all assets. Otherwise the assignment can be undone again',
    }),
  ),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  total: Type.Integer({ description: 'The number of assets, as counted at the start' }),
  ...counts,
  problem: Type.Optional(closed({ code: Type.String(), detail: Type.String() })),
  canCancel: Type.Boolean({ description: 'Whether the caller can cancel the assignment now' }),
  canUndo: Type.Boolean({
    description:
      'Whether the caller can undo the assignment now: it can write at least one of the changed assets. In a list, this is also true if an assignment has changed too many assets to check all of them',
  }),
  principalName: Type.String(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type Assignment = Static<typeof Assignment>

export const Rule = closed({
  nodeId: Uuid,
  namePattern: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: textPattern,
      description: 'Name of the asset, without NUL characters. `*` stands for any text',
    }),
  ),
  subnet: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'IPv4 or IPv6 subnet in CIDR notation' }),
  ),
  gatewayId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description:
        'The gateway that discovered the asset. A gateway that the caller cannot read has a substitute id. If a rule is written with this substitute id, it keeps its gateway',
    }),
  ),
})
export type Rule = Static<typeof Rule>

export const Proposal = closed({
  assetId: Uuid,
  assetName: Type.Union([Type.String(), Type.Null()]),
  nodeId: Uuid,
  nodeName: Type.String(),
  nodePath: Type.Array(Type.String(), { description: 'The names from the top level to the proposed node' }),
  currentNodeId: Type.Optional(Uuid),
  currentNodeName: Type.Optional(Type.String()),
  currentNodePath: Type.Optional(Type.Array(Type.String())),
  rule: Type.Integer({ description: 'The index of the rule that matched first' }),
})
export type Proposal = Static<typeof Proposal>
