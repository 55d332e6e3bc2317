import { type Impact, type ImpactMode, impactModes } from '@millwright/api/inventory/impact.ts'
import { iconDisk, iconExport } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { download } from '../../../components/actions/download.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { type Asset, textAt } from '../../assets/model/asset.ts'
import { hasRecentEvidence } from '../../assets/model/reachability.ts'
import { ImpactView } from './impact-view.tsx'
import { impactMessages } from './messages.ts'

export function useImpact(id: string | undefined, mode: ImpactMode) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['inventory', 'readImpact'], { params: { id: id ?? '' }, query: { mode } }),
    enabled: id !== undefined,
  })
}

const maxRelations = 500

/** Returns the predicates of the relations to an asset, by the id of the asset that has the relation. */
function usePredicates(id: string): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const graph = useQuery(query(['inventory', 'readGraph'], { params: { id }, query: { limit: maxRelations } })).data
    ?.data
  return useMemo(
    () =>
      new Map(
        graph?.edges.flatMap(({ subject, predicate, object }) =>
          object.id === id && subject.type === 'asset' ? [[subject.id, predicate] as const] : [],
        ),
      ),
    [graph, id],
  )
}

type ImpactPanelProps = {
  asset: { id: string; name: string }
  mode: ImpactMode
  onMode: (mode: ImpactMode) => void
  /** Whether the panel is next to the map. Then the header of the page has the definition and the link to the reports. */
  isCompact?: boolean
  onSelect?: (id: string) => void
  /** Further buttons. */
  actions?: ReactNode
}

/** `ImpactPanel` answers what depends on an asset, or what is lost if it fails. The result can be exported and saved. */
export function ImpactPanel({ asset, mode, onMode, isCompact, onSelect, actions }: ImpactPanelProps) {
  const text = useText(impactMessages)
  const hints = { depends: text.hintDepends, fails: text.hintFails }
  const impact = useImpact(asset.id, mode)
  const predicates = usePredicates(asset.id)
  const buttons = impact.data !== undefined && (
    <div className="impact-actions">
      <ImpactActions impact={impact.data.data} name={asset.name} />
      {!isCompact && (
        <>
          <Link to="/topology" search={{ asset: asset.id, show: mode } as never}>
            {text.showOnMap}
          </Link>
          <Link to={'/topology/impact' as never}>{text.reports}</Link>
        </>
      )}
    </div>
  )
  return (
    <div className="impact-panel">
      <div className="impact-tools">
        <ViewSwitch
          label={text.analysis}
          choices={impactModes.map((value) => ({ value, label: text[value], hint: hints[value] }))}
          chosen={mode}
          onChoose={onMode}
        />
        {!isCompact && buttons}
        {actions}
        {!isCompact && <p className="quiet impact-hint">{hints[mode]}</p>}
        {isCompact && buttons}
      </div>
      {mode === 'fails' && <PresentStop id={asset.id} />}
      {impact.error !== null ? (
        <ProblemMessage failure={impact.error} onRetry={() => impact.refetch()} />
      ) : impact.data === undefined ? (
        <Loading />
      ) : (
        <ImpactView
          impact={impact.data.data}
          name={asset.name}
          predicates={predicates}
          hasCondition={!isCompact}
          {...(isCompact !== undefined && { isCompact })}
          {...(onSelect && { onSelect })}
        />
      )}
      <p className="quiet impact-limits">{text.limits}</p>
    </div>
  )
}

/** `PresentStop` is shown if the asset of a simulated failure is in stop already, or was in stop when its mode was read last. */
function PresentStop({ id }: { id: string }) {
  const text = useText(impactMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const fields = 'id,operating_mode,reachability_state'
  const asset = useQuery(query(['inventory', 'readAsset'], { params: { id }, query: { fields } })).data?.data as
    | Asset
    | undefined
  if (asset === undefined || textAt(asset, 'operating_mode/mode_name') !== 'stop') return null
  const isRead = textAt(asset, 'reachability_state/state_value') === 'reached' && hasRecentEvidence(asset)
  const time = textAt(asset, 'reachability_state/state_timestamp')
  return <p className="impact-stop">{isRead ? text.inStop : text.lastInStop(formats.relative(time))}</p>
}

function ImpactActions({ impact, name }: { impact: Impact; name: string }) {
  const text = useText(impactMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const canExport = usePermission('glb_file_export')
  const [saved, setSaved] = useState<string>()
  const [isSaving, setSaving] = useState(false)
  const { asset, mode, total } = impact
  if (total.affected + total.degraded === 0) return null
  const save = async () => {
    setSaving(true)
    try {
      const { data } = await api.inventory.createImpactReport({ body: { data: { assetId: asset.id, mode } } })
      setSaved(data.id)
      showSuccess(text.saved)
      await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listImpactReports') })
    } finally {
      setSaving(false)
    }
  }
  const exportCsv = async () => {
    const csv = await api.inventory.exportImpact({ params: { id: asset.id }, query: { mode } })
    download(new Blob([csv as unknown as BlobPart], { type: 'text/csv' }), `${text.impactOf(name)}.csv`)
  }
  return (
    <>
      {canExport && (
        <IxButton variant="secondary" icon={iconExport} onClick={exportCsv}>
          {text.export}
        </IxButton>
      )}
      {saved === undefined ? (
        <IxButton variant="secondary" icon={iconDisk} disabled={isSaving} onClick={save}>
          {text.save}
        </IxButton>
      ) : (
        <Link to={'/topology/impact/$id' as never} params={{ id: saved } as never} className="button-link">
          {text.openReport}
        </Link>
      )}
    </>
  )
}
