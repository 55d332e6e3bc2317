import { impactModes } from '@millwright/api/inventory/impact.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { Time } from '../../components/values/time.tsx'
import { type Asset, nameOf } from '../assets/model/asset.ts'
import { ImpactPanel } from '../topology/impact/impact-panel.tsx'
import { impactMessages } from '../topology/impact/messages.ts'
import '../topology/topology.css'

/** `AssetImpact` shows what depends on the asset or is lost if it fails, and the saved reports of the asset. */
export function AssetImpact({ asset }: { asset: Asset }) {
  const [search, change] = useSearchState<'mode'>()
  const mode = impactModes.find((each) => each === search.mode) ?? 'depends'
  return (
    <div className="card asset-impact">
      <ImpactPanel
        asset={{ id: asset.id, name: nameOf(asset) }}
        mode={mode}
        onMode={(next) => change({ mode: next === 'depends' ? undefined : next })}
      />
      <Reports assetId={asset.id} />
    </div>
  )
}

function Reports({ assetId }: { assetId: string }) {
  const text = useText(impactMessages)
  const query = useOperationQuery()
  const { data } = useQuery(query(['inventory', 'listImpactReports'], { query: { asset: assetId, limit: 10 } }))
  const reports = data?.data ?? []
  if (reports.length === 0) return null
  return (
    <section>
      <h3>{text.reports}</h3>
      <ul className="plain-list">
        {reports.map(({ id, name, mode, createdTimestamp, principalName }) => (
          <li key={id}>
            <Link to={'/topology/impact/$id' as never} params={{ id } as never}>
              {name}
            </Link>{' '}
            <span className="quiet">
              {text[mode]} · {principalName} · <Time at={createdTimestamp} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
