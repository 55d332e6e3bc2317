import { type Static, Type } from 'typebox'
import { assetClasses } from '../asset-class.ts'
import { closed, data, Uuid } from '../envelope.ts'
import { evidenceLimitHours } from '../evidence.ts'
import {
  caseInsensitive,
  filterText,
  freeText,
  inventoryLimits,
  managementStates,
  oneOf,
  reachabilityStates,
} from './shapes.ts'

/** The aggregated topology: groups of assets with counts, and the relations between groups. */

/** The ways to group assets: by the nodes of a hierarchy, by IPv4 and IPv6 subnet, or by the switch they are connected to. */
export const groupings = ['hierarchy', 'subnet', 'switch'] as const
export type Grouping = (typeof groupings)[number]

/** The key of the group of assets that belong to no other group, for example assets without an IP address. */
export const restKey = 'rest'

const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))
const count = Type.Integer({ minimum: 0 })

const Reachability = closed({ reached: count, failed: count, unknown: count })
const Changes = closed({ added: count, changed: count, removed: count })

/** The kinds of changes of an asset that existed before. The last one is for changes of no other kind. */
export const changedKinds = ['firmware', 'software', 'name', 'connection', 'state', 'other'] as const
export type ChangedKind = (typeof changedKinds)[number]
const ChangeKinds = Type.Optional(
  closed(
    {
      firmware: Type.Integer({ minimum: 0, description: 'Assets whose firmware changed' }),
      software: Type.Integer({
        minimum: 0,
        description: 'Assets whose software components changed, without a change of the firmware version',
      }),
      name: Type.Integer({ minimum: 0, description: 'Assets with another name' }),
      connection: Type.Integer({
        minimum: 0,
        description:
          'Assets with another IP address, or with a connection (`is_connected_to`) that was added or removed',
      }),
      state: Type.Integer({
        minimum: 0,
        description: 'Assets whose management state, reachability, trust state or operating mode changed',
      }),
      other: Type.Integer({ minimum: 0, description: 'Changed assets without a change of these kinds' }),
    },
    {
      description:
        'Only with `changeKinds`: the numbers of assets by kind of change, without added assets. An asset with several kinds counts in each of them',
    },
  ),
)

export const monitoringCounts = ['reachable', 'unreachable', 'unchecked', 'unmonitored'] as const
const Monitoring = closed({
  reachable: Type.Integer({ minimum: 0, description: 'Assets that the last check of a monitoring reached' }),
  unreachable: Type.Integer({ minimum: 0, description: 'Assets that the last check did not reach' }),
  unchecked: Type.Integer({
    minimum: 0,
    description: 'Monitored assets without a result, or that could not be checked',
  }),
  unmonitored: Type.Integer({ minimum: 0, description: 'Devices that no monitoring checks' }),
})
const Outdated = Type.Integer({
  minimum: 0,
  description:
    'The number of assets with older firmware than the newest known version of their product. It is 0 for an earlier time',
})

const Stopped = Type.Integer({
  minimum: 0,
  description: 'The number of assets whose operating mode (`operating_mode/mode_name`) is `stop`',
})

const StoppedRead = Type.Integer({
  minimum: 0,
  description: `Of the assets in \`stopped\`: the number of assets that were reached in the ${evidenceLimitHours} hours before the time of the topology. The operating modes of the others are only the last known values`,
})

const Self = closed(
  {
    monitoring: Type.Optional(oneOf(monitoringCounts)),
    outdated: Type.Optional(Type.Boolean({ description: 'Whether the firmware of the switch is outdated' })),
  },
  {
    description: 'Only for `by=switch`: the state of the switch itself, which also counts in the numbers of the group',
  },
)

const PlacedGroup = closed({ key: Type.String(), name: Type.String(), type: Type.Optional(Type.String()) })

export const TopologyGroup = closed({
  key: Type.String({ description: 'The id of a node or of a switch, a subnet, or `rest`' }),
  kind: oneOf(['node', 'subnet', 'switch', 'rest'] as const),
  name: Type.Optional(Type.String({ description: 'Omitted for the group `rest`' })),
  type: Type.Optional(Type.String({ description: 'The type of a node, for example `line`' })),
  children: Type.Integer({ minimum: 0, description: 'The number of groups in this group' }),
  parent: Type.Optional(
    Type.String({
      description: 'Only with `allSwitches`: the key of the switch on the path to the root of the network',
    }),
  ),
  assets: count,
  addressed: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Only for `by=subnet`: the number of assets with their own IP address',
    }),
  ),
  reachability: Reachability,
  stopped: Stopped,
  stoppedRead: StoppedRead,
  outdated: Outdated,
  classes: Type.Array(closed({ class: oneOf(assetClasses), assets: count }), { description: 'Most frequent first' }),
  monitoring: Monitoring,
  changes: Changes,
  changeKinds: ChangeKinds,
  self: Type.Optional(Self),
  place: Type.Optional(
    Type.Array(PlacedGroup, {
      description:
        'Only for `by=subnet` and `by=switch` with `hierarchy`: the lowest node with most of the assets, as its path from the top',
    }),
  ),
})
export type TopologyGroup = Static<typeof TopologyGroup>

export const changeKinds = ['added', 'changed', 'removed'] as const

export const TopologyAsset = closed({
  id: Uuid,
  name: Type.Optional(Type.String()),
  functional_object_type: Type.Optional(Type.String()),
  class: oneOf(assetClasses),
  management_state: oneOf(managementStates),
  reachability_state: oneOf(reachabilityStates),
  monitoring: Type.Optional(oneOf(monitoringCounts)),
  stopped: Type.Optional(Type.Boolean({ description: 'Whether the operating mode is `stop`' })),
  stoppedRead: Type.Optional(
    Type.Boolean({
      description: `Whether the operating mode is \`stop\`, and the asset was reached in the last ${evidenceLimitHours} hours`,
    }),
  ),
  outdated: Type.Optional(Type.Boolean({ description: 'Whether the firmware is outdated' })),
  change: Type.Optional(oneOf(changeKinds)),
  changed: Type.Optional(
    Type.Array(oneOf(changedKinds), {
      description: 'Only with `changeKinds`: what changed in an asset that existed before',
    }),
  ),
})
export type TopologyAsset = Static<typeof TopologyAsset>

export const TopologyEdge = closed({
  from: Type.String({ description: 'The key of a group or the id of an asset' }),
  to: Type.String(),
  predicate: Type.String(),
  count: Type.Integer({ minimum: 1 }),
})
export type TopologyEdge = Static<typeof TopologyEdge>

const content = {
  path: Type.Array(PlacedGroup, { description: 'The groups from the top to `parent`' }),
  total: closed({
    assets: count,
    reachability: Reachability,
    stopped: Stopped,
    stoppedRead: StoppedRead,
    outdated: Outdated,
    monitoring: Monitoring,
    changes: Changes,
    changeKinds: ChangeKinds,
  }),
  groups: Type.Array(TopologyGroup),
  assets: Type.Array(TopologyAsset, { description: 'The assets that belong to `parent`, but to none of its groups' }),
  edges: Type.Array(TopologyEdge, { description: 'Relations between these groups and assets, most frequent first' }),
  truncated: Type.Boolean({ description: 'Groups, assets or edges were left out because of a limit' }),
}
const unavailable = Type.Array(oneOf(['outdated', 'monitoring'] as const), {
  description:
    'The numbers that are not known, and must not be used: at an earlier time, or because their service does not respond',
})
const GroupContent = closed(content)
export type GroupContent = Static<typeof GroupContent>
export const TopologyGroups = closed({ ...content, unavailable })
export type TopologyGroups = Static<typeof TopologyGroups>

const { topologyGroups, topologyGroupAssets, topologyEdges } = inventoryLimits

const mapQuery = {
  by: oneOf(groupings),
  hierarchy: Type.Optional(Uuid),
  at: moment('The topology at this time; default: now'),
  since: moment('Changes after this time are counted; default: 24 hours before `at`'),
  filter: Type.Optional(filterText),
  caseInsensitive,
  q: freeText,
}

const groupErrors = [
  'invalid_filter',
  'unknown_property',
  'history_gone',
  'hierarchy_not_found',
  'node_not_found',
  'not_found',
  'forbidden',
] as const

/** The whole topology: the top groups, and the inside of every group by its key. */
export const TopologyMap = closed({
  ...content,
  unavailable,
  inside: Type.Record(Type.String(), GroupContent, { description: 'The inside of each group, by its key' }),
})
export type TopologyMap = Static<typeof TopologyMap>

export const topologyGroupOperations = {
  readTopologyGroups: {
    method: 'GET',
    path: '/topology/groups',
    summary: 'Read the topology in groups: counts, health, changes, and relations between groups',
    description: `Without \`parent\`, the response contains the top groups. With \`parent\`, it contains the groups and assets inside this group. Only readable assets count. At most ${topologyGroups} groups, ${topologyGroupAssets} assets and ${topologyEdges} edges are returned. \`by=hierarchy\` requires \`hierarchy\` and \`glb_hierarchy_read\`. With another grouping and \`hierarchy\`, each group has the \`place\` of most of its assets. \`by=subnet\`: an asset has the subnet of its first IP address; an asset without an address has the subnet of the asset that it is a part or module of, or installed on. \`by=switch\`: an asset with at least ${inventoryLimits.switchConnections} connections (\`is_connected_to\`) is a switch, and the others belong to the nearest switch. For an earlier time, the nodes of the hierarchy are the current ones, and \`filter\` and \`q\` apply to current assets.`,
    access: 'inventory_read_asset_data',
    query: closed({
      ...mapQuery,
      parent: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'The key of a group' })),
      changeKinds: Type.Optional(
        Type.Boolean({ default: false, description: 'Returns the numbers of changed assets by kind of change' }),
      ),
      allSwitches: Type.Optional(
        Type.Boolean({
          default: false,
          description: `Only for \`by=switch\` without \`parent\`: returns every switch as a group of the assets that are connected to it, with its \`parent\`. Ignored if there is one switch, or more than ${topologyGroups}`,
        }),
      ),
    }),
    answers: { 200: data(TopologyGroups) },
    errors: groupErrors,
  },
  readTopologyMap: {
    method: 'GET',
    path: '/topology/map',
    summary: 'Read the topology in groups with all assets, for a map of the whole plant',
    description: `The groups are those of \`GET /topology/groups\`, and \`inside\` contains the groups and assets of every group. At most ${inventoryLimits.topologyNodes} assets and ${inventoryLimits.topologyTreeNodes} groups are returned; in a larger plant, use \`GET /topology/groups\` or a filter. \`removed\` is 0 here.`,
    access: 'inventory_read_asset_data',
    query: closed(mapQuery),
    answers: { 200: data(TopologyMap) },
    errors: groupErrors,
  },
} as const
