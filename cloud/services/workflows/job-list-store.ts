import type { JobCounts, JobPhase } from '@millwright/api/jobs.ts'
import type { Handle } from '../../platform/database/database.ts'
import { type Statement, statement } from '../../platform/database/statement.ts'
import type { JobRow } from './job.ts'
import { jobColumns } from './job-store.ts'

/** Filters for jobs. An absent filter matches all jobs. */
export type Selection = {
  clientId?: string | undefined
  /** Selects jobs of these clients, and jobs that this principal started. */
  visibleTo?: { clientIds: readonly string[]; principalId?: string | undefined } | undefined
  state?: string | undefined
  workflow?: string | undefined
  /** Leaves out the jobs that update the devices of a campaign. */
  withoutDeviceJobs?: boolean
  /** Leaves out finished monitoring runs. */
  withoutMonitoring?: boolean
  phase?: JobPhase | undefined
  groups?: readonly string[] | undefined
  /** Selects jobs that have all of these tags. */
  tags?: readonly string[] | undefined
  /** Selects jobs whose id is greater than or equal to this id. */
  fromId?: string | undefined
}

export type Page = { limit: number; offset: number; newestFirst: boolean }

const conditions: readonly [
  Exclude<keyof Selection, 'visibleTo' | 'tags' | 'withoutDeviceJobs' | 'withoutMonitoring'>,
  (at: string) => string,
][] = [
  ['clientId', (at) => `j.client_id = ${at}`],
  ['state', (at) => `j.state = ${at}`],
  ['workflow', (at) => `j.workflow = ${at}`],
  ['phase', (at) => `j.phase = ${at}`],
  ['groups', (at) => `j.state_group = any(${at}::text[])`],
  ['fromId', (at) => `j.id >= ${at}`],
]

const statements = new Map<string, Statement>()

/**
 * Returns the statement for one combination of filters. It contains only the conditions of these filters, so that the
 * planner uses the matching index. There are few combinations, and each is prepared once. The join starts with the tags,
 * because a tag selects few jobs, which are already sorted.
 */
function filtered<Row>(
  selection: Selection,
  build: (parts: Parts) => string,
): { text: Statement<Row>; values: unknown[] } {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value) + 1}`
  const tags = (selection.tags ?? []).map(place)
  const [first, ...others] = tags
  const from =
    first === undefined
      ? 'workflow_jobs j'
      : `workflow_job_tags g join workflow_jobs j on j.tenant_id = $1 and j.id = g.job_id`
  const where = [
    ...(first === undefined ? [] : [`g.tenant_id = $1 and g.tag = ${first}`]),
    'j.tenant_id = $1',
    ...others.map(
      (tag) => `exists (select from workflow_job_tags o where o.tenant_id = $1 and o.tag = ${tag} and o.job_id = j.id)`,
    ),
    ...conditions.flatMap(([name, condition]) =>
      selection[name] === undefined ? [] : [condition(place(selection[name]))],
    ),
    // Not parameters, because the statement uses a partial index with these conditions.
    ...(selection.withoutDeviceJobs === true ? [`j.workflow <> 'artefact-update'`] : []),
    ...(selection.withoutMonitoring === true ? [`(j.workflow <> 'monitoring' or j.phase <> 'finished')`] : []),
    ...visibleJobs(selection, place),
  ]
  const text = build({
    from,
    where: where.join(' and '),
    order: first === undefined ? 'j.id' : 'g.job_id',
    next: values.length + 2,
  })
  const cached = statements.get(text) ?? statement<Row>(text)
  statements.set(text, cached)
  return { text: cached as Statement<Row>, values }
}

function visibleJobs({ visibleTo }: Selection, place: (value: unknown) => string): string[] {
  if (visibleTo === undefined) return []
  const { clientIds, principalId } = visibleTo
  const ofClients = `j.client_id = any(${place(clientIds)}::text[])`
  return principalId === undefined ? [ofClients] : [`(${ofClients} or j.principal_id = ${place(principalId)})`]
}

type Parts = { from: string; where: string; order: string; next: number }

export function listJobs(handle: Handle, selection: Selection, page: Page): Promise<JobRow[]> {
  const direction = page.newestFirst ? 'desc' : 'asc'
  const { text, values } = filtered<JobRow>(
    selection,
    ({ from, where, order, next }) =>
      `select ${jobColumns} from ${from} where ${where} order by ${order} ${direction} limit $${next} offset $${next + 1}`,
  )
  return handle.rows(text, ...values, page.limit, page.offset)
}

export async function countJobs(handle: Handle, selection: Selection): Promise<number> {
  const { text, values } = filtered<{ count: number }>(
    selection,
    ({ from, where }) => `select count(*) as count from ${from} where ${where}`,
  )
  return (await handle.row(text, ...values))?.count ?? 0
}

const countByTagStatement = statement<{ tag: string; phase: JobPhase; count: number }>(
  `select g.tag, j.phase, count(*) as count from workflow_job_tags g
   join workflow_jobs j on j.tenant_id = $1 and j.id = g.job_id
   where g.tenant_id = $1 and g.tag = any($2::text[]) and j.workflow = $3 group by g.tag, j.phase`,
)

/** Returns the number of jobs of a workflow by phase, for each of these tags. */
export async function countByTag(
  handle: Handle,
  tags: readonly string[],
  workflow: string,
): Promise<Map<string, JobCounts>> {
  const counts = new Map(
    tags.map((tag): [string, JobCounts] => [tag, { waiting: 0, running: 0, finished: 0, failed: 0, canceled: 0 }]),
  )
  const rows = tags.length === 0 ? [] : await handle.rows(countByTagStatement, tags, workflow)
  for (const { tag, phase, count } of rows) {
    const ofTag = counts.get(tag)
    if (ofTag !== undefined) ofTag[phase] = count
  }
  return counts
}
