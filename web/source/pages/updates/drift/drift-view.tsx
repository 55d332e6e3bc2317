import type { DriftProduct } from '@millwright/api/updates.ts'
import { iconVersionHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Card } from '../../../components/page/card.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { BarChart } from '../../../components/values/bar-chart.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { driftFilter } from '../product-filter.ts'
import { driftMessages } from './messages.ts'
import '../updates.css'

/** `DriftView` shows for each product which firmware versions its devices run. */
export function DriftView() {
  const text = useText(driftMessages)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'product'>()
  const { rows, total, error, isLoading, next, retry } = usePagedList(
    ['updates', 'listDrift'],
    { query: { ...(search.product && { q: search.product }) } },
    { live: ['inventory.asset', 'updates.artefact'] },
  )
  return (
    <>
      <Toolbar count={text.count(total, formats.number(total))}>
        <SearchField
          value={search.product ?? ''}
          onChange={(q) => setSearch({ product: q })}
          label={text.search}
          hint={text.searchHint}
        />
      </Toolbar>
      {error !== null ? (
        <ProblemMessage failure={error} onRetry={retry} />
      ) : isLoading ? (
        <Loading />
      ) : rows.length === 0 ? (
        <EmptyState icon={iconVersionHistory} title={search.product === undefined ? text.none : text.noMatches}>
          <p>{search.product === undefined ? text.noneHint : text.noMatchesHint}</p>
          {search.product === undefined && <Link to="/discovery">{text.toDiscovery}</Link>}
        </EmptyState>
      ) : (
        <ul className="drift-products">
          {rows.map((product) => (
            <li key={`${product.manufacturer} ${product.product}`}>
              <ProductCard product={product} />
            </li>
          ))}
        </ul>
      )}
      {rows.length < total && (
        <IxButton variant="secondary" onClick={next}>
          {text.next}
        </IxButton>
      )}
    </>
  )
}

const shownVersions = 8

function ProductCard({ product }: { product: DriftProduct }) {
  const text = useText(driftMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const { manufacturer, productName, versions, newestKnown, newestArtefactId, outdated } = product
  const name = productName ?? product.product
  const title = name.startsWith(manufacturer) ? name : `${manufacturer} ${name}`
  const filter = driftFilter(product)
  const rest = versions.length - shownVersions
  return (
    <Card title={title}>
      <KeyValueList
        items={[
          { name: text.newestKnown, value: newestKnown },
          {
            name: text.outdated,
            value: (
              <StatusChip tone={outdated === 0 ? 'good' : 'warning'}>
                {formats.number(outdated)} / {text.devices(product.devices, formats.number(product.devices))}
              </StatusChip>
            ),
          },
        ]}
      />
      <div className="drift-versions">
        <BarChart
          label={text.versionsOf(title)}
          bars={versions.slice(0, shownVersions).map(({ version, devices, isOutlier }) => ({
            key: version ?? '',
            count: devices,
            label: (
              <span className="drift-label">
                {version ?? text.unknownVersion}
                {version !== null && version === newestKnown && <StatusChip tone="good">{text.newest}</StatusChip>}
                {isOutlier && (
                  <span title={text.outlierHint}>
                    <StatusChip tone="warning">{text.outlier}</StatusChip>
                  </span>
                )}
              </span>
            ),
          }))}
        />
        {rest > 0 && <p className="quiet">{text.more(formats.number(rest))}</p>}
      </div>
      {outdated > 0 && newestArtefactId === undefined && canManage && <p className="field-hint">{text.noArtefact}</p>}
      <div className="form-actions drift-actions">
        {outdated > 0 && newestArtefactId !== undefined && canManage && (
          <IxButton
            onClick={() =>
              navigate({ to: '/updates/campaigns/new', search: { artefact: newestArtefactId, filter } as never })
            }
          >
            {text.update}
          </IxButton>
        )}
        <Link to="/assets" search={{ filter } as never}>
          {text.showAssets}
        </Link>
      </div>
    </Card>
  )
}
