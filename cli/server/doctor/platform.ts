import { discovery } from '@millwright/api/discovery.ts'
import { jobs } from '@millwright/api/jobs.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import type { Session } from '../../session/session.ts'
import { type Check, runCheck } from './checks.ts'

const timeoutMs = 5_000
const dayMs = 24 * 3_600_000

/** Checks that the platform is reachable and ready, and compares its version with the version of the CLI. */
export async function checkReachable(url: string): Promise<Check[]> {
  const get = async (path: string) =>
    fetch(new URL(path, url), { signal: AbortSignal.timeout(timeoutMs), redirect: 'manual' })
  const ready = await get('/readyz').catch((error: Error) => error)
  if (ready instanceof Error) {
    const { cause } = ready as { cause?: NodeJS.ErrnoException }
    const detail = `${url} is not reachable (${cause?.code ?? ready.name})`
    return [
      {
        name: 'Platform',
        outcome: 'fail',
        detail,
        next: 'start the platform with millwright up, or check the address and the proxy',
      },
    ]
  }
  if (ready.status !== 200) {
    const { reason } = (await ready.json().catch(() => ({}))) as { reason?: string }
    const detail = `${url} is reachable, but not ready (${reason ?? ready.status})`
    return [
      {
        name: 'Platform',
        outcome: 'fail',
        detail,
        next: 'see its log; the most frequent reason is an unreachable database',
      },
    ]
  }
  const reached: Check = { name: 'Platform', outcome: 'ok', detail: `${url} is ready` }
  const version = (await (await get('/version')).json()) as { product?: string }
  if (version.product === productVersion) return [reached, { name: 'Version', outcome: 'ok', detail: productVersion }]
  return [
    reached,
    {
      name: 'Version',
      outcome: 'warn',
      detail: `the platform is ${version.product ?? 'unknown'}, this command line ${productVersion}`,
      next: 'use the same version for both',
    },
  ]
}

/** Checks the gateways, links and jobs that the user can read. */
export async function checkShopFloor(session: Session): Promise<Check[]> {
  return [
    ...(await runCheck('Gateways', () => checkGateways(session))),
    ...(await runCheck('Jobs', () => checkJobs(session))),
  ]
}

async function checkGateways({ api }: Session): Promise<Check[]> {
  const { data } = await api(onboarding).listGateways({ query: { limit: 100 } })
  if (data.length === 0) {
    return [{ name: 'Gateways', outcome: 'ok', detail: 'none yet', next: 'millwright gateway onboard' }]
  }
  const checks: Check[] = []
  for (const gateway of data) {
    const name = `Gateway ${gateway.name}`
    if (gateway.state === 'online')
      checks.push({ name, outcome: 'ok', detail: 'online' }, ...(await checkLinks({ api }, gateway)))
    else if (gateway.state === 'revoked') checks.push({ name, outcome: 'skip', detail: 'revoked' })
    else checks.push({ name, outcome: 'warn', ...stateOf(gateway) })
  }
  return checks
}

function stateOf({
  state,
  lastSeenTimestamp,
}: {
  state: string
  lastSeenTimestamp?: string
}): Pick<Check, 'detail' | 'next'> {
  if (state === 'offline') {
    return { detail: `offline, last seen ${lastSeenTimestamp}`, next: 'start it on its machine: millwright gateway' }
  }
  if (state === 'config_expired') {
    return { detail: 'not enrolled, and its config file has expired', next: 'millwright gateway renew' }
  }
  return {
    detail: 'not enrolled yet',
    next: 'start it with its config file: millwright gateway --config gateway-config.json',
  }
}

async function checkLinks({ api }: Pick<Session, 'api'>, { id, name }: { id: string; name: string }): Promise<Check[]> {
  const { data } = await api(discovery).listAssetLinks({ params: { gatewayId: id } })
  if (data.length === 0) {
    return [
      {
        name: `Links of ${name}`,
        outcome: 'warn',
        detail: 'none',
        next: 'start a link: millwright link run plant',
      },
    ]
  }
  return data.map(({ assetLinkId, reachable, compatible, incompatibility, problem }): Check => {
    if (reachable && compatible) return { name: `Link ${assetLinkId}`, outcome: 'ok', detail: 'reachable' }
    const detail = incompatibility ?? problem ?? 'not reachable'
    return {
      name: `Link ${assetLinkId}`,
      outcome: 'warn',
      detail,
      next: 'restart it; for details: millwright link test',
    }
  })
}

async function checkJobs({ api }: Session): Promise<Check> {
  const since = new Date(Date.now() - dayMs).toISOString()
  const failed = await api(jobs).listJobs({ query: { phase: 'failed', since, limit: 1 } })
  const waiting = await api(jobs).listJobs({ query: { phase: 'waiting', limit: 1 } })
  const count = failed.meta.totalElements ?? 0
  const detail = `${count} failed in the last 24 hours, ${waiting.meta.totalElements ?? 0} waiting`
  if (count === 0) return { name: 'Jobs', outcome: 'ok', detail }
  return { name: 'Jobs', outcome: 'warn', detail, next: 'millwright jobs list --phase failed' }
}
