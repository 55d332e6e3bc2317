import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import {
  iconChevronDownSmall,
  iconChevronRightSmall,
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
import { useId, useState } from 'react'
import { useGateways } from '../../app/api/gateways.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission, useRights } from '../../app/session/app-context.tsx'
import { Card } from '../../components/page/card.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { discoveryMessages } from '../discovery/messages.ts'
import { errorGroupsOf } from '../discovery/scans/error-groups.ts'
import { errorMessages } from '../discovery/scans/error-messages.ts'
import { useCoverage } from '../monitoring/monitoring-data.ts'
import { useApprovalCount } from '../remote-access/remote-session.ts'
import { eventsBehind, isInterrupted, kindOf, pathOf, shownState } from '../webhooks/subscription.ts'
import { useSubscriptions } from '../webhooks/subscription-data.ts'
import { startMessages } from './messages.ts'
import { type NextStep, nextSteps } from './next-steps.ts'
import { stoppedFilter, unreachableFilter, useDrift, useMonitoringCount, useTotalQuery } from './plant-queries.ts'
import { causesText, type FaultyRun, faultyRuns } from './scan-errors.ts'
import { noneStopped, useStoppedControllers } from './stopped-controllers.ts'

const dayMs = 86_400_000

/**
 * `NextCard` lists recommended next steps. It contains only the steps that the user has permission for. If there are faults, a button
 * opens the other recommendations.
 */
export function NextCard() {
  const text = useText(startMessages)
  const formats = useFormats()
  const { shown, hidden, areRecommendations } = nextSteps(useNextSteps())
  const [isOpen, setOpen] = useState(false)
  const hiddenId = useId()
  return (
    <Card title={text.next}>
      {shown.length === 0 && <p className="quiet">{text.nothingNext}</p>}
      <StepList steps={shown} />
      {hidden.length > 0 && (
        <>
          <button
            type="button"
            className="link-button start-further"
            aria-expanded={isOpen}
            aria-controls={hiddenId}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? iconChevronDownSmall : iconChevronRightSmall} />
            {(areRecommendations ? text.recommendations : text.furtherSteps)(
              hidden.length,
              formats.number(hidden.length),
            )}
          </button>
          <div id={hiddenId}>{isOpen && <StepList steps={hidden} />}</div>
        </>
      )}
    </Card>
  )
}

function StepList({ steps }: { steps: readonly NextStep[] }) {
  return (
    <ul className="start-next">
      {steps.map(({ id, icon, tone, title, detail, to, search, further }) => (
        <li key={id} data-tone={tone}>
          <Link to={to} {...(search && { search: search as never })} className="start-step">
            <Icon name={icon} />
            <span>
              <strong>{title}</strong>
              <span className="start-detail">{detail}</span>
            </span>
          </Link>
          {further !== undefined && (
            <Link to={further.to} className="start-step-further">
              {further.text}
            </Link>
          )}
        </li>
      ))}
    </ul>
  )
}

function useNextSteps(): NextStep[] {
  const text = useText(startMessages)
  const rights = useRights()
  const counts = useCounts()
  const { unreachable, unreachableSince, newAssets, duplicates, failed, offline, outdated, unmonitored } = counts
  const stopped = useStoppedControllers() ?? noneStopped
  const formats = useFormats()
  const shown = (count: number) => formats.number(count)
  const canWrite = rights.has('inventory_write_asset_data')
  const approvals = useApprovalCount()
  const missing = useMissingStep()
  const scanErrors = useScanErrorStep()
  const interrupted = useInterruptedStep()
  const steps: (NextStep | false)[] = [
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
            : text.stoppedMixed(shown(stopped.recent), shown(stopped.known), formats.relative(stopped.oldest)),
      to: '/assets',
      search: { filter: stoppedFilter },
    },
    interrupted,
    missing,
    scanErrors,
    approvals > 0 && {
      id: 'approvals',
      icon: iconRemoteAccess,
      tone: 'info',
      title: text.approvals(approvals, shown(approvals)),
      detail: text.approvalsText,
      to: '/remote',
      search: { view: 'approvals' },
    },
    canWrite &&
      newAssets > 0 && {
        id: 'decide',
        icon: iconDataIngress,
        tone: 'info',
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
  return steps.filter((step) => step !== false)
}

/** The number of scans whose last results are read. */
const maxScans = 20

/** Returns a step for the devices that the last scans did not find again, or false. */
function useMissingStep(): NextStep | false {
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
  const concerned = (scans ?? []).filter(
    ({ state, endedTimestamp, gone }) =>
      state === 'finished' && endedTimestamp !== undefined && endedTimestamp >= since && gone > 0,
  )
  const [first, second] = concerned
  if (first === undefined) return false
  const count = concerned.reduce((sum, { gone }) => sum + gone, 0)
  const newlyGone = concerned.reduce((sum, scan) => sum + scan.newlyGone, 0)
  return {
    id: 'missing',
    icon: iconQuestion,
    tone: 'warning',
    title: text.missing(count, formats.number(count)),
    detail: text.missingText(newlyGone, formats.number(newlyGone)),
    ...(second === undefined
      ? { to: `/discovery/scans/${first.jobId}`, search: { view: 'gone' } }
      : { to: '/discovery' }),
  }
}

/** The number of finished runs among which the latest run of each scan is searched, and of errors whose causes are counted. */
const limits = { runs: 100, errors: 100 } as const

/** Returns a step for the scan with the most errors, with their causes, and the number of other scans with errors. */
function useScanErrorStep(): NextStep | false {
  const text = useText(startMessages)
  const scanText = useText(discoveryMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const isEnabled = usePermission('glb_jobs_read')
  const [since] = useState(() => new Date(Date.now() - dayMs).toISOString())
  const input = { query: { type: 'discovery', phase: 'finished', since, limit: limits.runs } } as const
  const jobs = useQuery({
    ...query(['jobs', 'listJobs'], input, { live: ['workflows.job'] }),
    enabled: isEnabled,
  }).data?.data
  const [run, ...others] = faultyRuns(jobs ?? [], since)
  const causes = useCauses(run)
  if (run === undefined) return false
  const { scanId, runId, linkName, scope, errors, endedTimestamp } = run
  const name = linkName && scanText.scanName(linkName, scope.join(', ') || scanText.allDevices)
  return {
    id: 'scan-errors',
    icon: iconWarning,
    tone: 'warning',
    title: text.scanErrors(name, errors, formats.number(errors)),
    detail: [formats.compact(endedTimestamp), ...causes].join(' · '),
    to: `/discovery/scans/${scanId}`,
    search: { view: 'errors', run: runId },
    ...(others.length > 0 && {
      further: { text: text.otherScans(others.length, formats.number(others.length)), to: '/discovery' },
    }),
  }
}

/** Returns the causes of the errors of a run, as texts. */
function useCauses(run: FaultyRun | undefined): string[] {
  const text = useText(discoveryMessages)
  const causeTexts = useText(errorMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const { scanId = '', runId = '' } = run ?? {}
  const input = { params: { jobId: scanId }, query: { run: runId, limit: limits.errors } }
  const errors = useQuery({ ...query(['discovery', 'getReport'], input), enabled: run !== undefined }).data?.data.errors
  if (run === undefined || errors === undefined) return []
  return causesText(errorGroupsOf(errors, causeTexts), {
    isComplete: errors.length >= run.errors,
    textOf: (name, count) => text.errorGroup(name, count, formats.number(count)),
  })
}

/** Returns a step for the webhooks and MQTT publishers that do not deliver their events, or false. */
function useInterruptedStep(): NextStep | false {
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
