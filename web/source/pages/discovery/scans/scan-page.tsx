import type { AssetLink, Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import { iconError } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { isInvalidSettings, reasonOf } from '../../../app/language/link-message.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton } from '../../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Elapsed, Time } from '../../../components/values/time.tsx'
import { shownDifference } from '../../jobs/job-times.ts'
import { withParameterLabels } from '../built-in-links.ts'
import { nameOf, useLinksOf } from '../gateways/gateway-links.ts'
import { discoveryMessages } from '../messages.ts'
import { ScanState } from '../state-chips.tsx'
import { editSettings, isScanEditable } from './edit-settings.ts'
import { plannedTimeOf } from './late-run.ts'
import { InterruptionNote, useTimeLeft } from './running-scan.tsx'
import { useScanActions } from './scan-actions.ts'
import { ScanReceipt } from './scan-receipt.tsx'
import { ScanReport } from './scan-report.tsx'
import { ScanSettingsCard } from './scan-settings-card.tsx'
import { hasInvalidSettings, isRunning, scopeOf } from './scan-table.tsx'
import { ScheduleCard } from './schedule-card.tsx'
import { ZonedTime } from './zoned-time.tsx'
import '../../assets/assets.css'

const live = ['discovery', 'workflows.job']
/** The number of runs among which the user chooses. */
const shownRuns = 50

/** `ScanPage` shows the progress, the result, the schedule and the settings of one scan. */
export function ScanPage() {
  const text = useText(discoveryMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const scan = useQuery(query(['discovery', 'getDiscovery'], { params: { jobId: id } }, { live }))
  const { data: links } = useLinksOf(scan.data?.data.gatewayId)
  const link = links?.data.find(({ assetLinkId }) => assetLinkId === scan.data?.data.assetLinkId)
  const name = link === undefined ? scan.data?.data.assetLinkId : nameOf(link)
  const scope = scan.data === undefined ? '' : scopeOf(scan.data.data) || text.allDevices
  const title = name === undefined ? text.scans : text.scanOf(name, scope)
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        // The title contains the range of a limited scan.
        subtitle={scan.data !== undefined && scopeOf(scan.data.data) === '' ? text.unlimited : undefined}
        above={<ParentLink to="/discovery">{text.all}</ParentLink>}
        actions={scan.data !== undefined && <Actions scan={scan.data.data} link={link} />}
      />
      <QueryState query={scan}>{({ data }) => <ScanCards key={data.jobId} scan={data} link={link} />}</QueryState>
    </>
  )
}

function ScanCards({ scan, link }: { scan: Discovery; link: AssetLink | undefined }) {
  const text = useText(discoveryMessages)
  const [{ run }, setSearch] = useSearchState<'run'>()
  const query = useOperationQuery()
  const input = { params: { jobId: scan.jobId }, query: { limit: shownRuns } }
  const runs = useQuery(query(['discovery', 'listRuns'], input, { live })).data?.data ?? []
  const chosen = runs.find(({ id }) => id === run)
  return (
    <div className="cards cards-two">
      {scan.state === 'failed' && <FailedScan scan={scan} />}
      <section className="card run-facts" data-size="wide" aria-label={text.run}>
        <RunDetails scan={chosen === undefined ? scan : { ...scan, ...chosen }} run={chosen ?? runs[0]} />
      </section>
      <section className="scan-result" data-size="wide" aria-label={text.report}>
        <ScanReport scan={scan} chosenRun={run} runs={runs} onChooseRun={(id) => setSearch({ run: id })} />
      </section>
      <ScanReceipt scan={scan} run={run} />
      <ScheduleCard scan={scan} />
      <ScanSettingsCard scan={scan} link={link} />
    </div>
  )
}

/** `FailedScan` shows why the latest run of a scan failed, and what the user can do. */
function FailedScan({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const language = useLanguage()
  return (
    <section className="notice" data-tone="bad" data-size="wide" aria-label={text.failedTitle}>
      <Icon name={iconError} />
      <div>
        <p className="notice-title">
          {scan.message === undefined ? text.failedTitle : withParameterLabels(reasonOf(scan.message), scan, language)}
        </p>
        <p>
          <strong>{text.whatToDo}:</strong> {isInvalidSettings(scan.message) ? text.invalidAdvice : text.failedAdvice}
        </p>
      </div>
    </section>
  )
}

function RunDetails({ scan, run }: { scan: Discovery; run: DiscoveryRun | undefined }) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const gateways = useGatewayNames()
  const { startedTimestamp: started, endedTimestamp: ended, schedule } = scan
  const planned = plannedTimeOf(scan, run)
  const left = useTimeLeft(scan)
  return (
    <>
      {isRunning(scan) && <Progress value={scan.progress || undefined} label={text.progress} />}
      <KeyValueList
        items={[
          { name: text.state, value: <ScanState scan={scan} /> },
          // The progress or the figures show the same information as the message of a running or successful run. A notice shows why a run failed.
          scan.state === 'canceled' && { name: text.message, value: scan.message },
          {
            name: text.gateway,
            value: (
              <Link to={`/discovery/gateways/${scan.gatewayId}`}>{gateways.get(scan.gatewayId) ?? scan.gatewayId}</Link>
            ),
          },
          { name: text.started, value: <Time at={started} /> },
          started !== undefined &&
            ended !== undefined && {
              name: text.duration,
              value: formats.duration(shownDifference(started, ended)),
            },
          started !== undefined &&
            scan.state === 'running' && {
              name: text.duration,
              value: (
                <>
                  <Elapsed since={started} /> {text.soFar}
                  {left !== undefined && `, ${left}`}
                </>
              ),
            },
          { name: scan.runs > 1 ? text.createdBy : text.startedBy, value: scan.createdBy },
          // The tabs show how many of them are new, changed or unchanged.
          { name: text.foundDevices, value: formats.number(scan.found) },
        ]}
      />
      <InterruptionNote run={scan} />
      {planned !== undefined && schedule !== undefined && (
        <p className="quiet run-note">
          {text.plannedFor} <ZonedTime at={planned} zone={schedule.timezone} />. {text.madeUp}
        </p>
      )}
    </>
  )
}

function Actions({ scan, link }: { scan: Discovery; link: AssetLink | undefined }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canRun = usePermission('glb_discovery_run')
  const { runAgain, cancel, failure } = useScanActions()
  const [isRemoving, setRemoving] = useState(false)
  const [, setSearch] = useSearchState<'edit'>()
  const isInvalid = hasInvalidSettings(scan) && isScanEditable(link)
  const inbox = !isRunning(scan) && scan.created > 0 && (
    <Link to="/inbox" search={{ scan: scan.runId } as never} className="button-link">
      {text.toInbox}
    </Link>
  )
  if (!canRun) return inbox
  const remove = async () => {
    await api.discovery.deleteDiscovery({ params: { jobId: scan.jobId } })
    showSuccess(text.removed)
    await navigate({ to: '/discovery' })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery', 'listDiscoveries') })
  }
  return (
    <>
      {isRunning(scan) ? (
        <IxButton variant="secondary" onClick={() => cancel(scan.jobId)}>
          {text.cancel}
        </IxButton>
      ) : (
        <IxButton
          variant={inbox || isInvalid || scan.errors > 0 ? 'secondary' : 'primary'}
          onClick={() => runAgain(scan.jobId)}
        >
          {text.runAgain}
        </IxButton>
      )}
      {isInvalid && <IxButton onClick={() => setSearch({ edit: editSettings })}>{text.editScan}</IxButton>}
      {inbox}
      <MenuButton
        label={text.more}
        entries={[{ kind: 'item', label: `${text.remove}…`, onSelect: () => setRemoving(true) }]}
        isAtEnd
      />
      {isRemoving && (
        <ConfirmDialog
          title={text.removeScanTitle}
          action={text.remove}
          isDangerous
          onConfirm={remove}
          onClose={() => setRemoving(false)}
        >
          {text.removeScanDetail}
        </ConfirmDialog>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}
