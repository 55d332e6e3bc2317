import type { AssetUpdates, Impact, Retrieval, RetrievedKind } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useFileDownload } from '../../files/file-download.ts'
import { DeviceStateChip, OutcomeChip } from '../state-chips.tsx'
import { kindNames, retrievalStateNames } from '../state-names.ts'
import { updateEvents, useRefreshUpdates, useUpdatePolling } from '../update-data.ts'
import { stepsText } from '../version-steps.ts'
import { assetUpdateMessages } from './messages.ts'
import '../updates.css'

const endedRetrievals: readonly Retrieval['state'][] = ['finished', 'failed']

/** `AssetUpdatesTab` shows the version of an asset, the artefacts for it, and what was installed or read. */
export function AssetUpdatesTab({ id }: { id: string }) {
  const text = useText(assetUpdateMessages)
  const query = useOperationQuery()
  const canReadJobs = usePermission('glb_jobs_read')
  const live = { live: ['updates', 'inventory.asset', 'inventory.relation'] }
  const updates = useQuery(query(['updates', 'readAssetUpdates'], { params: { id } }, live))
  const impact = useQuery(query(['updates', 'readImpact'], { params: { id } }, live))
  return (
    <QueryState query={updates}>
      {({ data }) => (
        <div className="asset-updates">
          <div className="asset-updates-pair">
            <VersionCard updates={data} />
            <Card title={text.impact}>
              <QueryState query={impact}>{(found) => <ImpactView impact={found.data} />}</QueryState>
            </Card>
          </div>
          <Card title={text.artefacts}>
            <Artefacts updates={data} />
          </Card>
          {canReadJobs && <RetrievalCard id={id} kinds={data.canRetrieve} />}
          <Card title={text.history}>
            <History history={data.history} />
          </Card>
        </div>
      )}
    </QueryState>
  )
}

function VersionCard({ updates }: { updates: AssetUpdates }) {
  const text = useText(assetUpdateMessages)
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const { assetId, version, canUpdate, problem, artefacts } = updates
  const newest = artefacts.find(({ outcome }) => outcome === 'update')
  const search = { asset: assetId, ...(newest && { artefact: newest.artefactId }) }
  return (
    <Card
      title={text.version}
      actions={
        canManage &&
        canUpdate && (
          <IxButton onClick={() => navigate({ to: '/updates/campaigns/new', search: search as never })}>
            {text.update}
          </IxButton>
        )
      }
    >
      <KeyValueList
        items={[
          { name: text.installed, value: version ?? text.unknownVersion },
          { name: text.canUpdate, value: canUpdate ? text.isPossible : text.notPossible },
          problem !== undefined && { name: text.reason, value: <span lang="en">{problem}</span> },
        ]}
      />
    </Card>
  )
}

function Artefacts({ updates: { assetId, version, artefacts } }: { updates: AssetUpdates }) {
  const text = useText(assetUpdateMessages)
  const kinds = useText(kindNames)
  const canManage = usePermission('glb_update_manage')
  if (artefacts.length === 0) {
    return (
      <p className="quiet">
        {text.noArtefacts}{' '}
        <Link to="/updates" search={{ view: 'artefacts' } as never}>
          {text.toLibrary}
        </Link>
      </p>
    )
  }
  return (
    <PlainTable
      columns={[
        text.version,
        text.name,
        text.kind,
        text.result,
        text.path,
        text.reason,
        ...(canManage ? [text.actions] : []),
      ]}
    >
      {artefacts.map((artefact) => (
        <tr key={artefact.artefactId}>
          <td>{artefact.version}</td>
          <td>
            <Link to={`/updates/artefacts/${artefact.artefactId}`}>{artefact.name}</Link>
          </td>
          <td>{kinds[artefact.kind]}</td>
          <td>
            <OutcomeChip outcome={artefact.outcome} />
          </td>
          <td>
            {artefact.steps.length > 0 &&
              stepsText(
                { steps: artefact.steps, ...(version !== undefined && { fromVersion: version }) },
                text.unknownVersion,
              )}
          </td>
          <td lang="en">{artefact.reason}</td>
          {canManage && (
            <td>
              {artefact.outcome === 'update' && (
                <Link
                  to="/updates/campaigns/new"
                  search={{ asset: assetId, artefact: artefact.artefactId } as never}
                  aria-label={text.installOf(`${artefact.name} ${artefact.version}`)}
                >
                  {text.install}
                </Link>
              )}
            </td>
          )}
        </tr>
      ))}
    </PlainTable>
  )
}

/** `ImpactView` lists the assets that a restart of the asset can interrupt. */
export function ImpactView({ impact }: { impact: Impact }) {
  const text = useText(assetUpdateMessages)
  const formats = useFormats()
  const { interrupted, redundant, isComplete, isCertain } = impact
  return (
    <>
      <p className="quiet">{text.impactHint}</p>
      {interrupted.length === 0 ? (
        <p>{text.noInterrupted}</p>
      ) : (
        <>
          <p>{text.interrupted(interrupted.length, formats.number(interrupted.length))}</p>
          <AssetLinks assets={interrupted} />
        </>
      )}
      {redundant.length > 0 && (
        <>
          <p>
            {text.redundant}. {text.redundantHint}
          </p>
          <AssetLinks assets={redundant} />
        </>
      )}
      {!isCertain && <p className="remark">{text.uncertain}</p>}
      {!isComplete && <p className="remark">{text.incomplete}</p>}
    </>
  )
}

const shownAssets = 20

function AssetLinks({ assets }: { assets: Impact['interrupted'] }) {
  const text = useText(assetUpdateMessages)
  const formats = useFormats()
  return (
    <ul className="picked-assets">
      {assets.slice(0, shownAssets).map(({ assetId, name }) => (
        <li key={assetId}>
          <Link to={`/assets/${assetId}`}>{name ?? text.hiddenAsset}</Link>
        </li>
      ))}
      {assets.length > shownAssets && <li>{text.more(formats.number(assets.length - shownAssets))}</li>}
    </ul>
  )
}

const retrievalTones: Readonly<Record<Retrieval['state'], Tone>> = {
  waiting: 'neutral',
  running: 'info',
  finished: 'good',
  failed: 'bad',
}

/** `RetrievalCard` reads backups and other files from the device, and downloads them. */
function RetrievalCard({ id, kinds }: { id: string; kinds: readonly RetrievedKind[] }) {
  const text = useText(assetUpdateMessages)
  const api = useApi()
  const query = useOperationQuery()
  const refresh = useRefreshUpdates()
  const canManage = usePermission('glb_update_manage')
  const [failure, setFailure] = useState<unknown>()
  const [busy, setBusy] = useState<RetrievedKind>()
  const download = useFileDownload()
  const retrievals = useQuery(
    query(['updates', 'listRetrievals'], { params: { id }, query: { limit: 20 } }, updateEvents),
  )
  useUpdatePolling(retrievals.data?.data.some(({ state }) => !endedRetrievals.includes(state)) === true)
  const labels = { backup: text.readBackup, configuration: text.readConfiguration, logfile: text.readLogfile }
  const read = async (kind: RetrievedKind) => {
    setBusy(kind)
    setFailure(undefined)
    try {
      await api.updates.createRetrieval({ params: { id }, body: { data: { kind } } })
      showSuccess(text.readStarted)
      await refresh()
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(undefined)
    }
  }
  return (
    <Card title={text.retrieve}>
      <p className="card-lead">{text.retrieveHint}</p>
      {kinds.length === 0 && <p className="quiet">{text.noRetrieve}</p>}
      {canManage && kinds.length > 0 && (
        <div className="form-actions">
          {kinds.map((kind) => (
            <IxButton key={kind} variant="secondary" loading={busy === kind} onClick={() => read(kind)}>
              {labels[kind]}
            </IxButton>
          ))}
        </div>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {download.failure !== undefined && <ProblemMessage failure={download.failure} />}
      <QueryState query={retrievals}>
        {({ data }) =>
          data.length === 0 ? (
            kinds.length > 0 && <p className="quiet">{text.noRetrievals}</p>
          ) : (
            <Retrievals
              retrievals={data}
              onDownload={
                canManage
                  ? (artefactId) => download.save('updates', 'readContent', { params: { id: artefactId } })
                  : undefined
              }
            />
          )
        }
      </QueryState>
    </Card>
  )
}

type RetrievalsProps = {
  retrievals: readonly Retrieval[]
  /** Downloads an artefact. It is undefined if the user has no permission. */
  onDownload: ((artefactId: string) => void) | undefined
}

function Retrievals({ retrievals, onDownload }: RetrievalsProps) {
  const text = useText(assetUpdateMessages)
  const kindName = useText(kindNames)
  const states = useText(retrievalStateNames)
  return (
    <PlainTable columns={[text.kind, text.state, text.time, text.reason, text.actions]}>
      {retrievals.map(({ id, kind, state, progress, reason, artefactId, createdTimestamp }) => (
        <tr key={id}>
          <td>{kindName[kind]}</td>
          <td>
            {state === 'running' ? (
              <Progress value={progress} label={states.running} />
            ) : (
              <StatusChip tone={retrievalTones[state]}>{states[state]}</StatusChip>
            )}
          </td>
          <td>
            <Time at={createdTimestamp} />
          </td>
          <td lang="en">{reason}</td>
          <td>
            {artefactId !== undefined && onDownload !== undefined && (
              <button
                type="button"
                className="link-button"
                aria-label={text.downloadOf(kindName[kind])}
                onClick={() => onDownload(artefactId)}
              >
                {text.download}
              </button>
            )}
          </td>
        </tr>
      ))}
    </PlainTable>
  )
}

function History({ history }: { history: AssetUpdates['history'] }) {
  const text = useText(assetUpdateMessages)
  if (history.length === 0) return <p className="quiet">{text.noHistory}</p>
  return (
    <PlainTable columns={[text.time, text.campaign, text.change, text.state, text.reason]}>
      {history.map((device) => (
        <tr key={device.id}>
          <td>
            <Time at={device.lastModifiedTimestamp} />
          </td>
          <td>
            <Link to={`/updates/campaigns/${device.campaignId}`}>{device.campaignName}</Link>
            <div className="quiet">{device.artefactName}</div>
          </td>
          <td>{stepsText(device, text.unknownVersion)}</td>
          <td>
            <DeviceStateChip device={device} />
          </td>
          <td lang="en">{device.reason}</td>
        </tr>
      ))}
    </PlainTable>
  )
}
