import type { Campaign } from '@millwright/api/updates.ts'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useRights } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { CountBar } from '../count-bar.tsx'
import { CampaignStateChip, DeviceStateChip } from '../state-chips.tsx'
import { kindNames } from '../state-names.ts'
import { updateEvents, useCampaign, useUpdatePolling } from '../update-data.ts'
import { WindowText } from '../windows/window-fields.tsx'
import { WizardSteps } from '../wizard/wizard-steps.tsx'
import { CampaignActions } from './campaign-actions.tsx'
import { countsOf } from './campaign-counts.ts'
import { DeviceTable } from './device-table.tsx'
import { campaignMessages } from './messages.ts'
import { PlanView, usePlan } from './plan-view.tsx'
import '../updates.css'

/** `CampaignPage` shows the plan of a draft, and the live board of a campaign that was started. */
export function CampaignPage() {
  const text = useText(campaignMessages)
  const { id = '' } = useParams({ strict: false })
  const campaign = useCampaign(id)
  const data = campaign.data?.data
  const title = data?.name ?? text.campaign
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={<ParentLink to="/updates">{text.campaigns}</ParentLink>}
        subtitle={
          data !== undefined && (
            <span className="campaign-line">
              <CampaignStateChip campaign={data} />
              <Link to={`/updates/artefacts/${data.artefactId}`}>
                {data.artefact.name} {data.artefact.version}
              </Link>
              <span>
                {text.createdBy} {data.createdBy.name}
              </span>
              {data.finishedTimestamp !== undefined && (
                <span>
                  {text.finished} <Time at={data.finishedTimestamp} />
                </span>
              )}
              {data.stateReason !== undefined && <span lang="en">{data.stateReason}</span>}
              {data.state === 'pending-approval' && text.waitsForApproval}
              {data.approvedBy !== undefined && (
                <span>
                  {text.approvedBy} {data.approvedBy.name}
                </span>
              )}
            </span>
          )
        }
        actions={
          data !== undefined &&
          (data.state === 'draft' ? <DraftActions campaign={data} /> : <CampaignActions campaign={data} />)
        }
      />
      <QueryState query={campaign}>
        {(found) => (found.data.state === 'draft' ? <Draft campaign={found.data} /> : <Board campaign={found.data} />)}
      </QueryState>
    </>
  )
}

function DraftActions({ campaign }: { campaign: Campaign }) {
  const plan = usePlan(campaign.id)
  return <CampaignActions campaign={campaign} plannedDevices={plan.data?.pages[0]?.summary.outcomes.update} />
}

function Draft({ campaign }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  return (
    <>
      <WizardSteps current="plan" />
      <PlanView campaignId={campaign.id} />
      <Card title={text.details}>
        <CampaignDetails campaign={campaign} />
      </Card>
    </>
  )
}

const openStates: readonly Campaign['state'][] = ['running', 'paused', 'stopped', 'pending-approval']

/** `Board` shows the waves of a campaign with the states of their devices, its failures and its devices. */
function Board({ campaign }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const { active, done, total } = countsOf(campaign.counts)
  const { failed, unknown, skipped } = campaign.counts
  const hasFailures = failed + unknown + skipped > 0
  useUpdatePolling(openStates.includes(campaign.state) || active > 0)
  return (
    <>
      <div className="board">
        <Card title={text.progress}>
          <p className="card-lead" role="status">
            {text.done(formats.number(done), formats.number(total))}
            {total > 0 && !hasFailures && `. ${text.noFailures}`}
          </p>
          <CountBar counts={campaign.counts} label={text.statesOf(text.allDevices)} />
        </Card>
        {campaign.waveCounts.length > 1 && (
          <Card title={text.waves}>
            <Waves campaign={campaign} />
          </Card>
        )}
        {hasFailures && (
          <Card title={text.failures}>
            <Failures campaign={campaign} />
          </Card>
        )}
      </div>
      <h2 className="section-title">{text.devices}</h2>
      <DeviceTable campaign={campaign} />
      <div className="board-details">
        <Card title={text.details}>
          <CampaignDetails campaign={campaign} />
        </Card>
      </div>
    </>
  )
}

function Waves({ campaign }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  return (
    <ol className="waves">
      {campaign.waveCounts.map(({ wave, counts }) => {
        const { done, total } = countsOf(counts)
        const isNow = wave === campaign.wave && openStates.includes(campaign.state)
        return (
          <li key={wave} className="wave" data-now={isNow} {...(isNow && { 'aria-current': 'step' })}>
            <div className="wave-name">
              <strong>{text.wave(wave)}</strong>
              <span className="quiet">{text.done(formats.number(done), formats.number(total))}</span>
              {isNow && <span>{text.currentWave}</span>}
            </div>
            <CountBar counts={counts} label={text.statesOf(text.wave(wave))} />
          </li>
        )
      })}
    </ol>
  )
}

/** `Failures` groups failed, unknown and skipped devices by their reason. */
function Failures({ campaign: { id } }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const [, setSearch] = useSearchState<'state' | 'wave' | 'reason'>()
  const failures = useQuery(query(['updates', 'listFailures'], { params: { id } }, updateEvents))
  return (
    <QueryState query={failures}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{text.noFailures}</p>
        ) : (
          <ul className="reason-list">
            {data.map(({ state, reason, devices, assets }) => (
              <li key={`${state} ${reason}`}>
                <DeviceStateChip device={{ state, progress: 0 }} />
                <span>
                  <span lang="en">{withoutStatusCode(reason)}</span>
                  <span className="failed-assets">
                    {assets.map(({ id: assetId, name }) => (
                      <Link key={assetId} to={`/assets/${assetId}`}>
                        {name ?? assetId}
                      </Link>
                    ))}
                    {devices > assets.length && (
                      <span className="quiet">{text.moreDevices(formats.number(devices - assets.length))}</span>
                    )}
                  </span>
                </span>
                <button
                  type="button"
                  className="link-button reason-count"
                  aria-label={`${text.deviceCount(devices, formats.number(devices))}, ${text.showDevicesOf(reason)}`}
                  onClick={() => setSearch({ state, reason, wave: undefined })}
                >
                  {text.deviceCount(devices, formats.number(devices))}
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </QueryState>
  )
}

function CampaignDetails({ campaign }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  const kinds = useText(kindNames)
  const formats = useFormats()
  const rights = useRights()
  const { artefact, artefactId, targets, stopOnFailurePercent: stop } = campaign
  const isDraft = campaign.state === 'draft'
  return (
    <KeyValueList
      items={[
        {
          name: text.artefact,
          value: (
            <>
              <Link to={`/updates/artefacts/${artefactId}`}>
                {artefact.name} {artefact.version}
              </Link>
              , {kinds[artefact.kind]}
            </>
          ),
        },
        {
          name: text.targets,
          value: (
            <>
              {'filter' in targets ? (
                <code>{targets.filter}</code>
              ) : (
                text.targetsList(targets.assetIds.length, formats.number(targets.assetIds.length))
              )}
              {!isDraft && <div className="quiet">{text.frozen}</div>}
            </>
          ),
        },
        { name: text.window, value: campaign.window ? <WindowText window={campaign.window} /> : text.noWindow },
        {
          name: text.stop,
          value: stop === 0 ? text.stopFirst : stop === 100 ? text.stopNever : text.stopAt(formats.percent(stop / 100)),
        },
        { name: text.concurrent, value: formats.number(campaign.concurrentDevices) },
        { name: text.verify, value: text.minutes(campaign.verifyMinutes) },
        { name: text.downgrade, value: campaign.allowsDowngrade ? text.downgradeAllowed : text.downgradeRefused },
        {
          name: text.approval,
          value: campaign.approval === 'required' ? text.approvalRequired : text.approvalNone,
        },
        campaign.approval === 'required' &&
          !isDraft && { name: text.approvedBy, value: campaign.approvedBy?.name ?? text.notApproved },
        { name: text.createdBy, value: campaign.createdBy.name },
        { name: text.created, value: <Time at={campaign.createdTimestamp} /> },
        campaign.startedTimestamp !== undefined && {
          name: text.started,
          value: <Time at={campaign.startedTimestamp} />,
        },
        campaign.finishedTimestamp !== undefined && {
          name: text.finished,
          value: <Time at={campaign.finishedTimestamp} />,
        },
        campaign.jobId !== undefined &&
          rights.has('glb_jobs_read') && {
            name: text.job,
            value: <Link to={`/jobs/${campaign.jobId}`}>{text.viewJob}</Link>,
          },
        rights.has('glb_audit_read') && {
          name: text.audit,
          value: (
            <Link to="/activity" search={{ object: `update-campaign/${campaign.id}`, range: 'month' } as never}>
              {text.viewAudit}
            </Link>
          ),
        },
      ]}
    />
  )
}
