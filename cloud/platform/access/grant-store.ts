import { v7 } from 'uuid'
import type { Handle, Transaction } from '../database/database.ts'
import { type Statement, statement } from '../database/statement.ts'
import type { Listed, Paging } from './paging.ts'

export type GrantRow = {
  id: string
  principalId: string
  principalName: string
  role: string
  accessGroupId: string | null
  /** The identity provider whose claims created the grant. Null for a manual grant. */
  providerId: string | null
  createdAt: string
  /** The version of the principal. A grant never changes, but the name of its principal can change. */
  version: number
}

type Count = { total: number }

const columns = `g.id, g.principal_id as "principalId", p.name as "principalName", g.role,
  g.access_group_id as "accessGroupId", g.provider_id as "providerId", g.created_at as "createdAt", p.version`
const from = 'from grants g join principals p on p.tenant_id = $1 and p.id = g.principal_id where g.tenant_id = $1'

const newGrant = statement<{ id: string }>(
  `insert into grants (tenant_id, id, principal_id, role, access_group_id, provider_id) values ($1, $2, $3, $4, $5, $6)
   on conflict (tenant_id, principal_id, role, access_group_id, provider_id) do nothing returning id`,
)
const sameGrant = statement<GrantRow>(
  `select ${columns} ${from} and g.principal_id = $2 and g.role = $3 and g.access_group_id is not distinct from $4
     and g.provider_id is not distinct from $5`,
)
const mappedGrants = statement<{ id: string; role: string; accessGroupId: string | null }>(
  `select id, role, access_group_id as "accessGroupId" from grants
   where tenant_id = $1 and principal_id = $2 and provider_id = $3 order by id`,
)
const lessMappedGrants = statement('delete from grants where tenant_id = $1 and provider_id = $2')
const lessMappedGrantsOf = statement(
  `delete from grants
   where tenant_id = $1 and provider_id = $2 and role = $3 and access_group_id is not distinct from $4`,
)
const grantById = statement<GrantRow>(`select ${columns} ${from} and g.id = $2`)
const lessGrant = statement('delete from grants where tenant_id = $1 and id = $2')
const grantsOfRole = statement<{ granted: boolean }>(
  'select exists (select from grants where tenant_id = $1 and role = $2) as granted',
)
const enabledAdministrator = statement<{ there: boolean }>(
  `select exists (
     select from grants g join principals p on p.tenant_id = $1 and p.id = g.principal_id
     where g.tenant_id = $1 and g.role = 'administrator' and g.access_group_id is null and g.provider_id is null
       and p.kind = 'user' and not p.disabled) as there`,
)

/** Inserts a grant. If the same grant exists already, it returns the existing grant. */
export async function insertGrant(
  tx: Transaction,
  input: {
    principalId: string
    role: string
    accessGroupId?: string | null | undefined
    /** The identity provider whose claims give the role. */
    providerId?: string
  },
): Promise<{ grant: GrantRow; created: boolean }> {
  const { principalId, role, accessGroupId = null, providerId = null } = input
  const created = (await tx.row(newGrant, v7(), principalId, role, accessGroupId, providerId)) !== undefined
  const grant = await tx.row(sameGrant, principalId, role, accessGroupId, providerId)
  if (grant === undefined) throw new Error('A grant vanished within its transaction')
  return { grant, created }
}

export async function findGrant(handle: Handle, id: string): Promise<GrantRow | undefined> {
  return handle.row(grantById, id)
}

export async function deleteGrant(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.run(lessGrant, id)) > 0
}

export async function isGranted(handle: Handle, role: string): Promise<boolean> {
  return (await handle.row(grantsOfRole, role))?.granted === true
}

/** Returns the grants of a principal that the claims of a provider created. */
export function listMappedGrants(
  handle: Handle,
  { principalId, providerId }: { principalId: string; providerId: string },
) {
  return handle.rows(mappedGrants, principalId, providerId)
}

/** Deletes all grants that the claims of a provider created. */
export async function deleteMappedGrants(tx: Transaction, providerId: string): Promise<void> {
  await tx.run(lessMappedGrants, providerId)
}

/** Deletes the grants of one role that the claims of a provider created. */
export async function deleteMappedGrantsOf(
  tx: Transaction,
  { providerId, role, accessGroupId }: { providerId: string; role: string; accessGroupId: string | null },
): Promise<void> {
  await tx.run(lessMappedGrantsOf, providerId, role, accessGroupId)
}

/**
 * Returns whether the tenant has an enabled local administrator. Users of identity providers do not count, so that an
 * administrator can always sign in without a provider.
 */
export async function hasAdministrator(handle: Handle): Promise<boolean> {
  return (await handle.row(enabledAdministrator))?.there === true
}

export type GrantFilter = {
  principal?: string | undefined
  role?: string | undefined
  accessGroup?: string | undefined
}

const filterColumns = { principal: 'g.principal_id', role: 'g.role', accessGroup: 'g.access_group_id' } as const

type FilterName = keyof typeof filterColumns

const filterNames = Object.keys(filterColumns) as FilterName[]

type Listing = { page: Statement<GrantRow>; count: Statement<Count> }

/**
 * Statements for lists of grants, one for each combination of filters. A single statement with optional filters could
 * not use the indexes.
 */
const listings = new Map<string, Listing>(
  combinations(filterNames).map((names) => {
    const where = names.map((name, i) => ` and ${filterColumns[name]} = $${i + 2}`).join('')
    const next = names.length + 2
    return [
      names.join(),
      {
        page: statement<GrantRow>(
          `select ${columns} ${from}${where} order by g.id desc limit $${next} offset $${next + 1}`,
        ),
        count: statement<Count>(`select count(*) as total from grants g where g.tenant_id = $1${where}`),
      },
    ]
  }),
)

function combinations(names: FilterName[]): FilterName[][] {
  return Array.from({ length: 2 ** names.length }, (_, chosen) => names.filter((_, i) => (chosen >> i) % 2 === 1))
}

/** Lists grants, newest first. */
export async function listGrants(handle: Handle, query: GrantFilter & Paging): Promise<Listed<GrantRow>> {
  const names = filterNames.filter((name) => query[name] !== undefined)
  const listing = listings.get(names.join())
  if (listing === undefined) throw new Error('Every combination of filters has its statements')
  const values = names.map((name) => query[name])
  const rows = await handle.rows(listing.page, ...values, query.limit, query.offset)
  const total = (await handle.row(listing.count, ...values))?.total ?? 0
  return { rows, total }
}

export type HolderRow = {
  principalId: string
  principalName: string
  grants: { grant: string; role: string; accessGroup: string | null }[]
}

/**
 * The scope of a search for grants. `tenant`: only tenant-wide grants. `{ group }`: tenant-wide grants and the grants
 * in this access group. `anywhere`: all grants.
 */
export type Reach = { group: string } | 'tenant' | 'anywhere'

const reaching = `g.tenant_id = $1 and g.role = any($2::text[])
  and (g.access_group_id is null or $3::boolean or g.access_group_id = $4::uuid)`

const holders = statement<HolderRow>(
  `select p.id as "principalId", p.name as "principalName",
          json_agg(json_build_object('grant', g.id, 'role', g.role, 'accessGroup', g.access_group_id) order by g.id) as grants
   from grants g join principals p on p.tenant_id = $1 and p.id = g.principal_id and not p.disabled
   where ${reaching}
   group by p.id, p.name order by p.name, p.id limit $5 offset $6`,
)
const countHolders = statement<Count>(
  `select count(distinct g.principal_id) as total
   from grants g join principals p on p.tenant_id = $1 and p.id = g.principal_id and not p.disabled
   where ${reaching}`,
)

/** Lists the principals that hold one of the roles. Disabled principals are not included. */
export async function listHolders(
  handle: Handle,
  query: Paging & { roles: readonly string[]; reach: Reach },
): Promise<Listed<HolderRow>> {
  const { roles, reach, limit, offset } = query
  const group = typeof reach === 'object' ? reach.group : null
  const values = [roles, reach === 'anywhere', group]
  const rows = await handle.rows(holders, ...values, limit, offset)
  return { rows, total: (await handle.row(countHolders, ...values))?.total ?? 0 }
}
