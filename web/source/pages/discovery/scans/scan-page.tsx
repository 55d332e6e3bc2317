import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { nameOf, useLinksOf } from '../gateways/gateway-links.ts'
import { discoveryMessages } from '../messages.ts'
import { ScanState } from '../state-chips.tsx'
import { ScanReceipt } from './scan-receipt.tsx'
import { ScanReport } from './scan-report.tsx'
import { ScanSettingsCard } from './scan-settings-card.tsx'
import { scopeOf } from './scan-table.tsx'
import { ScheduleCard } from './schedule-card.tsx'

const live = ['discovery', 'workflows.job']

/** `ScanPage` shows the progress, the result, the schedule and the settings of one scan. */
export function ScanPage() {
  const text = useText(discoveryMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const scan = useQuery(query(['discovery', 'getDiscovery'], { params: { jobId: id } }, { live }))
  const { data: links } = useLinksOf(scan.data?.data.gatewayId)
  const link = links?.data.find(({ assetLinkId }) => assetLinkId === scan.data?.data.assetLinkId)
  const name = link === undefined ? scan.data?.data.assetLinkId : nameOf(link)
  const title = name === undefined ? text.scans : text.scanOf(name)
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        subtitle={scan.data && (scopeOf(scan.data.data) || text.allDevices)}
        above={<Link to="/discovery">{text.all}</Link>}
        actions={scan.data !== undefined && <Actions scan={scan.data.data} />}
      />
      <QueryState query={scan}>{({ data }) => <ScanCards key={data.jobId} scan={data} link={link} />}</QueryState>
    </>
  )
}

function ScanCards({ scan, link }: { scan: Discovery; link: AssetLink | undefined }) {
  const text = useText(discoveryMessages)
  const [run, setRun] = useState<string>()
  return (
    <div className="cards cards-two">
      <Card title={text.run} size="wide">
        <RunDetails scan={scan} />
      </Card>
      <Card title={text.report} size="wide">
        <ScanReport scan={scan} chosenRun={run} onChooseRun={setRun} />
      </Card>
      <ScanReceipt scan={scan} run={run} />
      <ScheduleCard scan={scan} />
      <ScanSettingsCard scan={scan} link={link} />
    </div>
  )
}

export function isRunning({ state, runId }: Discovery): boolean {
  return runId !== undefined && (state === 'created' || state === 'running')
}

function RunDetails({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const gateways = useGatewayNames()
  const { startedTimestamp: started, endedTimestamp: ended } = scan
  return (
    <>
      {isRunning(scan) && <Progress value={scan.progress || undefined} label={text.progress} />}
      <KeyValueList
        items={[
          { name: text.state, value: <ScanState state={scan.state} /> },
          // The progress or the figures show the same information as the message of a running or successful run.
          scan.state !== 'finished' && scan.state !== 'running' && { name: text.message, value: scan.message },
          { name: text.scope, value: scopeOf(scan) || text.allDevices },
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
              value: formats.duration(Date.parse(ended) - Date.parse(started)),
            },
        ]}
      />
      <KeyFigures
        figures={[
          { name: text.found, value: formats.number(scan.found) },
          { name: text.isNew, value: formats.number(scan.created) },
          { name: text.changed, value: formats.number(scan.updated) },
          { name: text.unchanged, value: formats.number(scan.unchanged) },
          { name: text.missing, value: formats.number(scan.gone) },
          { name: text.errors, value: formats.number(scan.errors) },
        ]}
      />
    </>
  )
}

function Actions({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canRun = usePermission('glb_discovery_run')
  const [failure, setFailure] = useState<unknown>()
  const inbox = !isRunning(scan) && scan.created > 0 && (
    <Link to="/inbox" search={{ scan: scan.runId } as never} className="button-link">
      {text.toInbox}
    </Link>
  )
  if (!canRun) return inbox
  const params = { jobId: scan.jobId }
  const withFailure = (work: () => Promise<unknown>) => async () => {
    try {
      setFailure(undefined)
      await work()
      await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    } catch (error) {
      setFailure(error)
    }
  }
  const cancel = withFailure(async () => {
    await api.discovery.cancelDiscovery({ params })
    showSuccess(text.canceling)
  })
  const remove = async () => {
    await api.discovery.deleteDiscovery({ params })
    showSuccess(text.removed)
    await navigate({ to: '/discovery' })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery', 'listDiscoveries') })
  }
  return (
    <>
      <ConfirmButton action={text.remove} title={text.removeScanTitle} onConfirm={remove}>
        {text.removeScanDetail}
      </ConfirmButton>
      {isRunning(scan) ? (
        <IxButton variant="secondary" onClick={cancel}>
          {text.cancel}
        </IxButton>
      ) : (
        <IxButton
          variant={inbox ? 'secondary' : 'primary'}
          onClick={withFailure(() => api.discovery.runDiscovery({ params }))}
        >
          {text.runAgain}
        </IxButton>
      )}
      {inbox}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}
