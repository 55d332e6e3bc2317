import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import {
  iconDataIngress,
  iconDuplicate,
  iconError,
  iconMonitoring,
  iconNetworkDevice,
  iconQuestion,
  iconRemoteAccess,
  iconSearch,
  iconSendTopRight,
  iconUpdateApplication,
  iconWarning,
} from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useGateways } from '../../app/api/gateways.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission, useRights } from '../../app/session/app-context.tsx'
import { Card } from '../../components/page/card.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { useCoverage } from '../monitoring/monitoring-data.ts'
import { useApprovalCount } from '../remote-access/remote-session.ts'
import { eventsBehind, isInterrupted, kindOf, pathOf, shownState } from '../webhooks/subscription.ts'
import { useSubscriptions } from '../webhooks/subscription-data.ts'
import { startMessages } from './messages.ts'
import { stoppedFilter, unreachableFilter, useDrift, useMonitoringCount, useTotalQuery } from './plant-queries.ts'
import { noneStopped, useStoppedControllers } from './stopped-controllers.ts'

const dayMs = 86_400_000

type Step = {
  id: string
  icon: string
  /** The urgency of the step. Steps without it are suggestions. */
  tone?: 'bad' | 'critical' | 'warning'
  title: string
  detail: string
  to: string
  search?: Record<string, string>
}

/** Returns the rank of a step. Urgent steps come first. */
function rankOf({ tone }: Step): number {
  return tone === 'bad' ? 0 : tone === undefined ? 2 : 1
}

/** `NextCard` lists recommended next steps. It contains only the steps that the user has permission for. */
export function NextCard() {
  const text = useText(startMessages)
  const steps = useNextSteps()
  return (
    <Card title={text.next}>
      {steps.length === 0 && <p className="quiet">{text.nothingNext}</p>}
      <ul className="start-next">
        {steps.map(({ id, icon, tone, title, detail, to, search }) => (
          <li key={id} data-tone={tone}>
            <Link to={to} {...(search && { search: search as never })} className="start-step">
              <Icon name={icon} />
              <span>
                <strong>{title}</strong>
                <span className="start-detail">{detail}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function useNextSteps(): Step[] {
  const text = useText(startMessages)
  const rights = useRights()
  const counts = useCounts()
  const { unreachable, unreachableSince, newAssets, duplicates, failed, offline, outdated, unmonitored } = counts
  const stopped = useStoppedControllers() ?? noneStopped
  const formats = useFormats()
  const shown = (count: number) => formats.number(count)
  const canWrite = rights.has('inventory_write_asset_data')
  const approvals = useApprovalCount()
  const scanSteps = useScanSteps()
  const interrupted = useInterruptedStep()
  const steps: (Step | false)[] = [
    unreachable > 0 && {
      id: 'unreachable',
      icon: iconError,
      tone: 'bad',
      title: text.unreachableDevices(unreachable, shown(unreachable)),
      detail:
        unreachableSince === undefined
          ? text.unreachableText
          : text.unreachableSince(unreachable, formats.compact(unreachableSince)),
      to: '/assets',
      search: { filter: unreachableFilter },
    },
    stopped.count > 0 && {
      id: 'stopped',
      icon: iconWarning,
      tone: 'critical',
      title: text.stoppedControllers(stopped.count, shown(stopped.count)),
      detail:
        stopped.known === 0
          ? text.stoppedText
          : stopped.recent === 0
            ? text.stoppedOld(formats.relative(stopped.oldest))
            : text.stoppedMixed(
                shown(stopped.recent),
                stopped.known,
                shown(stopped.known),
                formats.relative(stopped.oldest),
              ),
      to: '/assets',
      search: { filter: stoppedFilter },
    },
    interrupted,
    ...scanSteps,
    approvals > 0 && {
      id: 'approvals',
      icon: iconRemoteAccess,
      title: text.approvals(approvals, shown(approvals)),
      detail: text.approvalsText,
      to: '/remote',
      search: { view: 'approvals' },
    },
    canWrite &&
      newAssets > 0 && {
        id: 'decide',
        icon: iconDataIngress,
        title: text.review(newAssets, shown(newAssets)),
        detail: text.reviewText,
        to: '/inbox',
      },
    offline > 0 && {
      id: 'offline',
      icon: iconNetworkDevice,
      tone: 'bad',
      title: text.offline(offline, shown(offline)),
      detail: text.offlineText,
      to: '/discovery',
    },
    failed > 0 && {
      id: 'failed',
      icon: iconError,
      tone: 'bad',
      title: text.failed(failed, shown(failed)),
      detail: text.failedText,
      to: '/jobs',
      search: { phase: 'failed' },
    },
    canWrite &&
      duplicates > 0 && {
        id: 'twins',
        icon: iconDuplicate,
        title: text.duplicates(duplicates, shown(duplicates)),
        detail: text.duplicatesText,
        to: '/inbox',
        search: { list: 'twins' },
      },
    outdated > 0 && {
      id: 'firmware',
      icon: iconUpdateApplication,
      title: text.firmware(outdated, shown(outdated)),
      detail: text.firmwareText,
      to: '/updates',
      search: { view: 'drift' },
    },
    rights.has('glb_jobs_read') &&
      unmonitored > 0 && {
        id: 'monitor',
        icon: iconMonitoring,
        title: counts.isMonitored ? text.unmonitored(unmonitored, shown(unmonitored)) : text.monitor,
        detail: counts.isMonitored ? text.unmonitoredText : text.monitorText(shown(unmonitored)),
        to: '/monitoring',
      },
    rights.has('glb_discovery_run') && {
      id: 'discover',
      icon: iconSearch,
      title: text.discover,
      detail: text.discoverText,
      to: '/discovery',
      search: { scan: 'any' },
    },
  ]
  return steps.filter((step) => step !== false).toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** The number of scans whose last results are read. */
const maxScans = 20

/** Returns a step for the errors of the last scans, and a step for the devices that they did not find again. */
function useScanSteps(): Step[] {
  const text = useText(startMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const isEnabled = usePermission('glb_jobs_read')
  const [since] = useState(() => new Date(Date.now() - dayMs).toISOString())
  const input = { query: { sort: '-latestRun', limit: maxScans } } as const
  const scans = useQuery({
    ...query(['discovery', 'listDiscoveries'], input, { live: ['discovery'] }),
    enabled: isEnabled,
  }).data?.data
  const recent = (scans ?? []).filter(
    ({ state, endedTimestamp }) => state === 'finished' && endedTimestamp !== undefined && endedTimestamp >= since,
  )
  const stepOf = (
    name: 'errors' | 'gone',
    step: Pick<Step, 'id' | 'icon' | 'detail'>,
    titleOf: typeof text.missing,
  ) => {
    const concerned = recent.filter((scan) => scan[name] > 0)
    const [first, second] = concerned
    if (first === undefined) return []
    const count = concerned.reduce((sum, scan) => sum + scan[name], 0)
    return [
      {
        ...step,
        tone: 'warning' as const,
        title: titleOf(count, formats.number(count)),
        ...(second === undefined
          ? { to: `/discovery/scans/${first.jobId}`, search: { view: name } }
          : { to: '/discovery' }),
      },
    ]
  }
  const newlyGone = recent.reduce((sum, scan) => sum + scan.newlyGone, 0)
  const missingText = text.missingText(newlyGone, formats.number(newlyGone))
  return [
    ...stepOf('gone', { id: 'missing', icon: iconQuestion, detail: missingText }, text.missing),
    ...stepOf('errors', { id: 'scan-errors', icon: iconWarning, detail: text.scanErrorsText }, text.scanErrors),
  ]
}

/** Returns a step for the webhooks and MQTT publishers that do not deliver their events, or false. */
function useInterruptedStep(): Step | false {
  const text = useText(startMessages)
  const formats = useFormats()
  const interrupted = useSubscriptions().filter(isInterrupted)
  const [first, second] = interrupted
  if (first === undefined) return false
  const count = interrupted.reduce((sum, each) => sum + each.waiting + eventsBehind(each), 0)
  const step = {
    id: 'interrupted',
    icon: iconSendTopRight,
    tone: 'warning' as const,
    detail: text.interruptedText(count, formats.number(count)),
  }
  const kind = kindOf(first)
  const titles =
    kind === 'webhook'
      ? { interrupted: text.interrupted, neverWorked: text.neverWorked }
      : { interrupted: text.interruptedPublisher, neverWorked: text.neverWorkedPublisher }
  const titleOf = shownState(first) === 'neverWorked' ? titles.neverWorked : titles.interrupted
  if (second === undefined) return { ...step, title: titleOf(first.name), to: `${pathOf[kind]}/${first.id}` }
  return { ...step, title: text.interruptedMany(formats.number(interrupted.length)), to: '/webhooks' }
}

/**
 * Returns the counts that determine the next steps. A count is 0 until it is loaded, and also if the user lacks
 * permission.
 */
function useCounts() {
  const query = useOperationQuery()
  const rights = useRights()
  const canReadJobs = rights.has('glb_jobs_read')
  const [since] = useState(() => new Date(Date.now() - dayMs).toISOString())
  const unreachable = useQuery(useTotalQuery(unreachableFilter))
  const newAssets = useQuery(useTotalQuery(inboxFilter({})))
  const duplicates = useQuery(query(['inventory', 'listDuplicates'], { query: { limit: 1 } }, { live: ['inventory'] }))
  const failed = useQuery({
    ...query(['jobs', 'listJobs'], { query: { phase: 'failed', since, limit: 1 } }, { live: ['workflows.job'] }),
    enabled: canReadJobs,
  })
  const gateways = useGateways({ isEnabled: canReadJobs })
  const monitorings = useMonitoringCount(canReadJobs && rights.has('inventory_read_asset_data'))
  const coverage = useCoverage()
  const drift = useDrift({ isEnabled: canReadJobs && rights.has('inventory_read_asset_data') })
  return {
    unreachable: unreachable.data?.meta.totalElements ?? 0,
    unreachableSince: coverage?.failedSinceTimestamp,
    newAssets: newAssets.data?.meta.totalElements ?? 0,
    duplicates: duplicates.data?.meta.totalElements ?? 0,
    failed: failed.data?.meta.totalElements ?? 0,
    offline: gateways.data?.data.filter(({ state }) => state === 'offline').length ?? 0,
    isMonitored: monitorings !== 0,
    unmonitored: coverage?.unmonitored ?? 0,
    outdated: drift.data?.data.reduce((sum, product) => sum + product.outdated, 0) ?? 0,
  }
}
