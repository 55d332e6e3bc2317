import type { AssetLink } from '@millwright/api/discovery.ts'
import { isRequiredParameter } from '@millwright/api/link-parameter.ts'
import { iconSuccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { startMessages } from './messages.ts'
import { useGatewayStates } from './plant-queries.ts'
import { ScanFeed } from './scan-feed.tsx'

/**
 * `FirstSteps` guides the user of an empty plant through the first steps: gateway, scan and review. Completed steps are
 * marked.
 */
export function FirstSteps() {
  const text = useText(startMessages)
  const canImport = usePermission('glb_file_import')
  const gateways = useGatewayStates().data?.data ?? []
  const online = gateways.find(({ state }) => state === 'online')
  const [jobId, setJobId] = useState<string>()
  const scan = useScan(jobId)
  const found = scan?.found ?? 0
  return (
    <div className="first" data-scanning={jobId !== undefined}>
      <section className="first-steps" aria-labelledby="first-steps">
        <h2 id="first-steps">{text.firstTitle}</h2>
        <p className="quiet">{text.firstLead}</p>
        <ol>
          <Step number={1} title={text.stepGateway} isDone={online !== undefined}>
            {online === undefined ? (
              <NoGateway isWaiting={gateways.length > 0} />
            ) : (
              <p>{text.stepGatewayDone(online.name)}</p>
            )}
          </Step>
          <Step number={2} title={text.stepScan} isDone={scan?.state === 'finished' && found > 0}>
            <p className="quiet">{text.stepScanText}</p>
            {online !== undefined && jobId === undefined && <FirstScan gatewayId={online.id} onStarted={setJobId} />}
            {scan !== undefined && <ScanProgress state={scan.state} progress={scan.progress} found={found} />}
          </Step>
          <Step number={3} title={text.stepReview} isDone={false}>
            <p className="quiet">{text.stepReviewText}</p>
            {found > 0 && (
              <Link to="/inbox" className="button-link">
                {text.openInbox}
              </Link>
            )}
          </Step>
        </ol>
        {canImport && (
          <p>
            {text.firstImport} <Link to="/files/import">{text.importFile}</Link>
          </p>
        )}
      </section>
      {jobId !== undefined && <ScanFeed />}
    </div>
  )
}

type StepProps = { number: number; title: string; isDone: boolean; children: ReactNode }

function Step({ number, title, isDone, children }: StepProps) {
  const text = useText(startMessages)
  return (
    <li className="first-step" data-done={isDone}>
      <span className="first-step-mark" aria-hidden="true">
        {isDone ? <Icon name={iconSuccess} /> : number}
      </span>
      <div className="first-step-body">
        <h3>
          {title}
          {isDone && <span className="unseen"> ({text.stepDone})</span>}
        </h3>
        {children}
      </div>
    </li>
  )
}

function NoGateway({ isWaiting }: { isWaiting: boolean }) {
  const text = useText(startMessages)
  const canManage = usePermission('glb_gateway_manage')
  return (
    <>
      <p className="quiet">{text.stepGatewayText}</p>
      {isWaiting && <p role="status">{text.stepGatewayWait}</p>}
      {canManage && (
        <Link to="/discovery" search={{ onboard: 'yes' } as never} className="button-link">
          {text.addGateway}
        </Link>
      )}
    </>
  )
}

/** The interval at which the asset links are read again, because a new asset link needs some time to start. */
const askAgainMs = 3_000

function FirstScan({ gatewayId, onStarted }: { gatewayId: string; onStarted: (jobId: string) => void }) {
  const text = useText(startMessages)
  const api = useApi()
  const navigate = useNavigate()
  const query = useOperationQuery()
  const [failure, setFailure] = useState<unknown>()
  const links = useQuery({
    ...query(['discovery', 'listAssetLinks'], { params: { gatewayId } }, { live: ['discovery.link'] }),
    refetchInterval: askAgainMs,
  })
  const usable = (links.data?.data ?? []).filter(({ reachable, compatible }) => reachable && compatible)
  // A link to a real network scans only the range that a user enters in its dialog.
  const immediate = usable.filter(({ filters, options }) => ![...filters, ...options].some(isRequiredParameter))
  const start = async ({ assetLinkId }: AssetLink) => {
    setFailure(undefined)
    await api.discovery
      .createDiscovery({ params: { gatewayId }, body: { data: { assetLinkId } } })
      .then(({ jobId }) => onStarted(jobId))
      .catch(setFailure)
  }
  if (links.data !== undefined && usable.length === 0) return <p role="status">{text.noLink}</p>
  return (
    <div className="form-actions">
      {immediate.slice(0, 3).map((link) => (
        <IxButton key={link.assetLinkId} onClick={() => start(link)}>
          {text.startScan(link.product?.name ?? link.assetLinkId)}
        </IxButton>
      ))}
      {usable.length > 0 && (
        <IxButton
          variant="secondary"
          onClick={() => navigate({ to: '/discovery', search: { scan: gatewayId } as never })}
        >
          {text.settings}
        </IxButton>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </div>
  )
}

function useScan(jobId: string | undefined) {
  const query = useOperationQuery()
  const { data } = useQuery({
    ...query(
      ['discovery', 'getDiscovery'],
      { params: { jobId: jobId ?? '' } },
      { live: ['discovery', 'workflows.job'] },
    ),
    enabled: jobId !== undefined,
    refetchInterval: 2_000,
  })
  return data?.data
}

function ScanProgress({ state, progress, found }: { state: string; progress: number; found: number }) {
  const text = useText(startMessages)
  const formats = useFormats()
  return (
    <div role="status">
      {state !== 'finished' && <Progress value={progress} label={text.scanning} />}
      {(found > 0 || state === 'finished') && <p>{text.stepScanDone(formats.number(found))}</p>}
    </div>
  )
}
