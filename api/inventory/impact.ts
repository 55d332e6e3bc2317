import { type Static, Type } from 'typebox'
import { assetClasses } from '../asset-class.ts'
import { empty, media } from '../contract.ts'
import { closed, data, Name, page, pageQuery, Timestamp, Uuid } from '../envelope.ts'
import { byId, inventoryLimits, oneOf, reachabilityStates } from './shapes.ts'

/** The impact of an asset on other assets, and the stored reports of it. */

/** `depends`: what depends on the asset. `fails`: what is lost if the asset fails. */
export const impactModes = ['depends', 'fails'] as const
export type ImpactMode = (typeof impactModes)[number]

export const impactEffects = ['affected', 'degraded'] as const
export type ImpactEffect = (typeof impactEffects)[number]

const count = Type.Integer({ minimum: 0 })

export const ImpactedAsset = closed({
  id: Uuid,
  name: Type.Optional(Type.String()),
  functional_object_type: Type.Optional(Type.String()),
  product_name: Type.Optional(Type.String()),
  class: oneOf(assetClasses),
  reachability_state: oneOf(reachabilityStates),
  effect: oneOf(impactEffects),
  reason: oneOf(['dependency', 'network', 'redundancy'] as const),
  via: Type.Optional(Type.String({ ...Uuid, description: 'The asset through which this asset is reached' })),
  depth: Type.Integer({ minimum: 1, description: 'The number of relations from the asset of the request' }),
  nodeIds: Type.Array(Uuid, { description: 'The nodes of hierarchies to which the asset is assigned' }),
})
export type ImpactedAsset = Static<typeof ImpactedAsset>

const counted = { affected: count, degraded: count }

export const Impact = closed({
  asset: closed({ id: Uuid, name: Type.Optional(Type.String()) }),
  mode: oneOf(impactModes),
  time: Timestamp,
  total: closed(counted),
  byNode: Type.Array(
    closed({
      nodeId: Type.Optional(Uuid),
      names: Type.Array(Type.String(), { description: 'The names of the hierarchy and of the nodes on the path' }),
      ...counted,
    }),
    { description: 'Most affected first. The last entry without `nodeId` counts assets without a node' },
  ),
  byClass: Type.Array(closed({ class: oneOf(assetClasses), ...counted })),
  assets: Type.Array(ImpactedAsset, { description: 'Affected assets first, then by depth and name' }),
  truncated: Type.Boolean({ description: 'The graph is larger than the limit: further assets may be affected' }),
})
export type Impact = Static<typeof Impact>

export const ImpactReport = closed({
  id: Uuid,
  name: Name,
  assetId: Uuid,
  assetName: Type.Optional(Type.String()),
  mode: oneOf(impactModes),
  affected: Type.Optional(count),
  degraded: Type.Optional(count),
  createdTimestamp: Timestamp,
  principalName: Type.String({ description: 'The author' }),
  isOwn: Type.Boolean({ description: 'Whether the caller is the author' }),
})
export type ImpactReport = Static<typeof ImpactReport>

const mode = Type.Optional(
  Type.Unsafe<ImpactMode>(
    Type.String({
      enum: [...impactModes],
      default: 'depends',
      description: '`depends`: what depends on the asset. `fails`: what is lost if the asset fails',
    }),
  ),
)

export const impactOperations = {
  readImpact: {
    method: 'GET',
    path: '/assets/{id}/impact',
    summary: 'Find the assets that depend on an asset, or that are lost if it fails',
    description: `With \`mode=depends\`, the subject of a relation depends on its object; \`is_connected_to\` counts if it is recorded in one direction only. With \`mode=fails\`, assets that lose their last connection (\`is_connected_to\`) to a gateway are affected too, and assets with a longer connection are degraded. An asset with a working partner (\`is_redundant_with\`) is degraded, not affected. Only readable assets are followed, at most ${inventoryLimits.impactAssets}.`,
    access: 'inventory_read_asset_data',
    params: byId,
    query: closed({ mode }),
    answers: { 200: data(Impact) },
    errors: ['not_found'],
  },
  exportImpact: {
    method: 'GET',
    path: '/assets/{id}/impact/export',
    summary: 'Export the impact of an asset as CSV, one row per asset',
    description: 'Contains only assets that the caller can read.',
    access: 'glb_file_export',
    params: byId,
    query: closed({ mode }),
    answers: { 200: media('text/csv; charset=utf-8') },
    errors: ['not_found'],
  },
  createImpactReport: {
    method: 'POST',
    path: '/impact-reports',
    summary: 'Compute the impact of an asset and store it as a report',
    access: 'inventory_read_asset_data',
    body: data(closed({ assetId: Uuid, mode, name: Type.Optional(Name) })),
    answers: { 201: data(ImpactReport) },
    errors: ['asset_not_found', 'conflict'],
  },
  listImpactReports: {
    method: 'GET',
    path: '/impact-reports',
    summary: 'List the impact reports of readable assets, newest first',
    description:
      'A caller that cannot read all assets gets no counts here, because they can include hidden assets. `GET /impact-reports/{id}` counts the readable assets.',
    access: 'inventory_read_asset_data',
    query: closed({ ...pageQuery, asset: Type.Optional(Uuid) }),
    answers: { 200: page(ImpactReport) },
  },
  readImpactReport: {
    method: 'GET',
    path: '/impact-reports/{id}',
    summary: 'Read an impact report, as far as its assets are readable',
    access: 'inventory_read_asset_data',
    params: byId,
    answers: { 200: data(closed({ ...ImpactReport.properties, impact: Impact })) },
    errors: ['not_found'],
  },
  deleteImpactReport: {
    method: 'DELETE',
    path: '/impact-reports/{id}',
    summary: 'Delete an impact report: its author, or a caller that can write the asset',
    access: 'inventory_read_asset_data',
    params: byId,
    answers: { 204: empty },
    errors: ['not_found', 'forbidden'],
  },
} as const
