import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import { iconVersionHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import type { CSSProperties } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { CheckField, SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { updateMessages } from '../messages.ts'
import { driftFilter, productTitle } from '../product-filter.ts'
import { useOpenCampaigns } from '../update-data.ts'
import { updateStepsOf } from '../update-step.ts'
import { driftMessages } from './messages.ts'
import '../updates.css'

/** `DriftView` shows for each product which firmware versions its devices run. */
export function DriftView() {
  const text = useText(driftMessages)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'product' | 'older' | 'sort'>()
  const { rows, total, error, isLoading, next, retry } = usePagedList(
    ['updates', 'listDrift'],
    { query: { ...(search.product && { q: search.product }) } },
    { live: ['inventory.asset', 'updates.artefact'] },
  )
  const campaigns = useOpenCampaigns(rows)
  // The products with the most older devices come first.
  const listed = search.older === undefined ? rows : rows.filter(({ outdated }) => outdated > 0)
  const shown =
    search.sort === undefined ? listed : listed.toSorted((a, b) => productTitle(a).localeCompare(productTitle(b)))
  return (
    <>
      <Toolbar count={text.count(total, formats.number(total))}>
        <SearchField
          value={search.product ?? ''}
          onChange={(q) => setSearch({ product: q })}
          label={text.search}
          hint={text.searchHint}
        />
        <CheckField
          label={text.olderOnly}
          isChecked={search.older !== undefined}
          onChange={(isChecked) => setSearch({ older: isChecked ? 'only' : undefined })}
        />
        <SelectField
          label={text.sort}
          isLabelUnseen
          value={search.sort ?? ''}
          onChange={(value) => setSearch({ sort: value })}
          choices={[
            { value: '', label: text.sortOlder },
            { value: 'name', label: text.sortName },
          ]}
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
        <>
          <ul className="drift-key">
            {kinds.map((kind) => (
              <li key={kind} data-kind={kind}>
                {text[kind]}
              </li>
            ))}
          </ul>
          <ul className="drift-products">
            {shown.map((product) => (
              <li key={`${product.manufacturer} ${product.product}`}>
                <ProductRow product={product} campaigns={campaigns} />
              </li>
            ))}
          </ul>
        </>
      )}
      {rows.length < total && (
        <IxButton variant="secondary" onClick={next}>
          {text.next}
        </IxButton>
      )}
    </>
  )
}

type Version = DriftProduct['versions'][number]
type VersionKind = 'newest' | 'older' | 'outlier' | 'unknown'

const kinds: readonly VersionKind[] = ['newest', 'older', 'outlier', 'unknown']

/** Returns how a version is shown. An outlier is a version that few devices of the product have. */
function kindOf({ version, isOutlier }: Version, newestKnown: string | undefined): VersionKind {
  if (version === null) return 'unknown'
  if (version === newestKnown) return 'newest'
  return isOutlier ? 'outlier' : 'older'
}

const shownVersions = 8

/** Returns the share of the dark colour in the colour of an older version, in percent: the oldest version has most. */
function shadesOf(versions: readonly Version[], newestKnown: string | undefined): ReadonlyMap<Version, number> {
  const older = versions.filter(({ version }) => version !== null && version !== newestKnown)
  const byAge = older.toSorted((a, b) => compareVersions(String(b.version), String(a.version)))
  return new Map(byAge.map((each, index) => [each, Math.round((darkest * index) / Math.max(1, byAge.length - 1))]))
}

/** The share of the dark colour in the colour of the oldest version, in percent. */
const darkest = 45

type ProductRowProps = { product: DriftProduct; campaigns: readonly Campaign[] }

/** `ProductRow` shows the share of each version among the devices of a product, and what to do about older devices. */
function ProductRow({ product, campaigns }: ProductRowProps) {
  const text = useText(driftMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const steps = useText(updateMessages)
  const { versions, devices, newestKnown, newestArtefactId, outdated } = product
  const [step, other] = updateStepsOf(product, campaigns)
  const title = productTitle(product)
  const shades = shadesOf(versions, newestKnown)
  const styleOf = (each: Version) => ({ '--age': `${shades.get(each) ?? 0}%` }) as CSSProperties
  const filter = driftFilter(product)
  const rest = versions.length - shownVersions
  const newest = newestArtefactId === undefined ? text.newestInUse : text.newestArtefact
  return (
    <>
      <div>
        <Link to="/assets" search={{ filter } as never}>
          {title}
        </Link>
        {newestKnown !== undefined && <p className="quiet">{newest(newestKnown)}</p>}
      </div>
      <div>
        <span className="drift-shares" aria-hidden="true">
          {versions.map((each) => (
            <span
              key={String(each.version)}
              data-kind={kindOf(each, newestKnown)}
              style={{ ...styleOf(each), flexGrow: each.devices }}
            />
          ))}
        </span>
        <ul className="drift-versions" aria-label={text.versionsOf(title)}>
          {versions.slice(0, shownVersions).map((each) => (
            <li key={String(each.version)} data-kind={kindOf(each, newestKnown)} style={styleOf(each)}>
              {each.version ?? text.unknownVersion}{' '}
              <span className="quiet">
                {formats.number(each.devices)} ({formats.percent(each.devices / devices)})
              </span>
            </li>
          ))}
          {rest > 0 && <li className="quiet">{text.more(formats.number(rest))}</li>}
        </ul>
      </div>
      <div className="drift-actions">
        <span className={outdated > 0 ? 'drift-older' : 'quiet'}>
          {outdated > 0 ? text.outdated(formats.number(outdated), formats.number(devices)) : text.upToDate}
        </span>
        {outdated > 0 && canManage && step !== undefined && (
          <IxButton variant="secondary" onClick={() => navigate({ to: step.to, search: step.search as never })}>
            {step.kind === 'plan' ? text.update(outdated, formats.number(outdated)) : steps[step.kind]}
          </IxButton>
        )}
        {outdated > 0 && canManage && other?.campaign !== undefined && (
          <Link to={other.to} aria-label={text.stepOf(steps[other.kind], other.campaign.name)}>
            {steps[other.kind]}
          </Link>
        )}
      </div>
    </>
  )
}
