import { findFaults } from '@millwright/cloud/platform/database/distribution-check.ts'
import { nameOf } from '@millwright/cloud/platform/tenants/placement.ts'
import {
  type ClusterNode,
  readClusterState,
  readNodeVersions,
  readShardSizes,
  selectNodes,
  selectTenantShards,
} from '@millwright/cloud/platform/tenants/placement-store.ts'
import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'
import { placeRules } from '@millwright/cloud/prepare.ts'
import { formatBytes, formatCount } from '../../output/text.ts'
import type { Check } from './checks.ts'

/** A cluster is unbalanced if its largest worker has at least this size, and is this many times the smallest worker. */
const unbalanced = { bytes: 1024 ** 3, times: 3 } as const
const tenantsShown = 5

export type ClusterChecks = {
  checks: Check[]
  /** False if a worker is not reachable, so that the data of all tenants cannot be read. */
  isReachable: boolean
}

/** Checks the nodes of a Citus cluster. Returns no check for a plain PostgreSQL server. */
export async function checkCluster(owner: Owner, appRole: string): Promise<ClusterChecks> {
  const { citus, distributed } = await readClusterState(owner)
  if (!citus) return { checks: [], isReachable: true }
  if (!distributed) {
    const next = 'run millwright database distribute, or use a database without the extension'
    const detail = 'the extension citus is installed, but the tables are not distributed'
    return { checks: [{ name: 'Cluster', outcome: 'warn', detail, next }], isReachable: true }
  }
  const nodes = await selectNodes(owner)
  const versions = await readNodeVersions(owner)
  const isDown = ({ id }: ClusterNode) => 'error' in (versions.get(id) ?? { error: '' })
  const down = nodes.filter(isDown)
  if (down.length > 0) return { checks: await reportDown(owner, down), isReachable: false }
  const shown = nodes.map((node) => ({ node: nameOf(node), ...(versions.get(node.id) as Versions) }))
  const checks = [checkVersions(shown), await checkTables(owner, appRole), await checkBalance(owner, nodes)]
  return { checks, isReachable: true }
}

type Versions = { postgres: string; citus: string }

async function reportDown(owner: Owner, down: readonly ClusterNode[]): Promise<Check[]> {
  const shards = await selectTenantShards(owner)
  return down.map((node) => {
    const affected = shards.filter(({ nodeId }) => nodeId === node.id).map(({ tenant }) => tenant)
    const names = affected.slice(0, tenantsShown).join(', ')
    const list = affected.length > tenantsShown ? `${names} and ${affected.length - tenantsShown} more` : names
    const detail = `${nameOf(node)} is not reachable. Requests of ${formatCount(affected.length, 'tenant')} get 503${list === '' ? '' : ` (${list})`}`
    const next = 'start this PostgreSQL server, or restore the connection from the coordinator to it'
    return { name: 'Cluster', outcome: 'fail', detail, next }
  })
}

function checkVersions(nodes: readonly (Versions & { node: string })[]): Check {
  const name = 'Cluster'
  const [first] = nodes
  const differs = nodes.find(({ postgres, citus }) => postgres !== first?.postgres || citus !== first?.citus)
  if (first === undefined || differs === undefined) {
    const detail = `${formatCount(nodes.length, 'node')} with Citus ${first?.citus} and PostgreSQL ${first?.postgres}`
    return { name, outcome: 'ok', detail }
  }
  const detail = [first, differs].map(
    ({ node, postgres, citus }) => `${node} has Citus ${citus} and PostgreSQL ${postgres}`,
  )
  return { name, outcome: 'warn', detail: detail.join(', '), next: 'install the same versions on all nodes' }
}

/** Checks the place of each table, and that its shards have the columns, policies and privileges of the table. */
async function checkTables(owner: Owner, appRole: string): Promise<Check> {
  const name = 'Cluster'
  const faults = await findFaults(owner, { rules: placeRules, appRole })
  const [first] = faults
  if (first === undefined) return { name, outcome: 'ok', detail: 'all tables and their shards are correct' }
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : ''
  return {
    name,
    outcome: 'fail',
    detail: `${first.table}: ${first.detail}${more}`,
    next: 'run millwright database distribute',
  }
}

async function checkBalance(owner: Owner, nodes: readonly ClusterNode[]): Promise<Check> {
  const sizes = await readShardSizes(owner)
  const workers = nodes
    .filter(({ hasShards }) => hasShards)
    .map((node) => {
      const shards = sizes.get(node.id)
      return { node: nameOf(node), bytes: Array.isArray(shards) ? shards.reduce((sum, one) => sum + one.bytes, 0) : 0 }
    })
  const name = 'Cluster'
  const detail = `size per worker: ${workers.map(({ node, bytes }) => `${node} ${formatBytes(bytes)}`).join(', ')}`
  const largest = Math.max(...workers.map(({ bytes }) => bytes))
  const smallest = Math.min(...workers.map(({ bytes }) => bytes))
  if (largest < unbalanced.bytes || largest < unbalanced.times * smallest) return { name, outcome: 'ok', detail }
  return {
    name,
    outcome: 'warn',
    detail,
    next: 'see millwright tenants list --placement, and move tenants with millwright tenants move',
  }
}
