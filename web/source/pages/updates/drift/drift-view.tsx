import type { DriftProduct } from '@millwright/api/updates.ts'
import { iconVersionHistory } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { CheckField, SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { updateMessages } from '../messages.ts'
import { driftFilter, productTitle } from '../product-filter.ts'
import { useTargetCount, useUpdateSteps, versionRefresh } from '../update-data.ts'
import type { UpdateStep } from '../update-step.ts'
import { versionKindNames, versionKindOf, versionKinds, versionShades } from '../version-kinds.ts'
import { driftMessages } from './messages.ts'
import '../updates.css'
import '../version-kinds.css'

/** `DriftView` shows for each product which firmware versions its devices run. */
export function DriftView() {
  const text = useText(driftMessages)
  const kindNames = useText(versionKindNames)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'product' | 'older' | 'sort'>()
  const { rows, total, error, isLoading, next, retry } = usePagedList(
    ['updates', 'listDrift'],
    { query: { withGateways: true, ...(search.product && { q: search.product }) } },
    versionRefresh,
  )
  const stepsOf = useUpdateSteps(rows)
  // The products with the most older devices come first.
  const listed = search.older === undefined ? rows : rows.filter(({ outdated }) => outdated > 0)
  const shown =
    search.sort === undefined ? listed : listed.toSorted((a, b) => productTitle(a).localeCompare(productTitle(b)))
  const count = rows.length < total ? total : shown.length
  return (
    <>
      <Toolbar count={text.count(count, formats.number(count))}>
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
            {versionKinds.map((kind) => (
              <li key={kind} data-version={kind}>
                {kindNames[kind]}
              </li>
            ))}
          </ul>
          <ul className="drift-products">
            {shown.map((product) => (
              <li key={`${product.manufacturer} ${product.product}`}>
                <ProductRow product={product} steps={stepsOf(product)} />
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

const shownVersions = 8

type ProductRowProps = { product: DriftProduct; steps: readonly UpdateStep[] }

/** `ProductRow` shows the share of each version among the devices of a product, and what to do about older devices. */
function ProductRow({ product, steps: [step, other] }: ProductRowProps) {
  const text = useText(driftMessages)
  const formats = useFormats()
  const stepNames = useText(updateMessages)
  const { versions, devices, newestKnown, newestArtefactId, outdated, outdatedWithGateway: reachable = 0 } = product
  const targets = useTargetCount(product, step?.campaign) ?? 0
  const isPart = targets > 0 && targets < reachable
  const nameOfOther =
    other === undefined
      ? ''
      : other.kind === 'plan' && isPart
        ? text.planOthers(formats.number(reachable - targets))
        : stepNames[other.kind]
  const title = productTitle(product)
  const shadeOf = versionShades(product)
  const filter = driftFilter(product)
  const rest = versions.length - shownVersions
  const newest = newestArtefactId === undefined ? text.newestInUse : text.newestArtefact
  return (
    <>
      <div>
        <Link to="/assets" search={{ filter } as never}>
          {title}
        </Link>
        {newestKnown !== undefined && <p className="quiet drift-newest">{newest(newestKnown)}</p>}
      </div>
      <div>
        <span className="drift-shares" aria-hidden="true">
          {versions.map((each) => (
            <span
              key={String(each.version)}
              data-version={versionKindOf(each, newestKnown)}
              style={{ ...shadeOf(each), flexGrow: each.devices }}
            />
          ))}
        </span>
        <ul className="drift-versions" aria-label={text.versionsOf(title)}>
          {versions.slice(0, shownVersions).map((each) => (
            <li key={String(each.version)} data-version={versionKindOf(each, newestKnown)} style={shadeOf(each)}>
              {each.version ?? text.unknownVersion}{' '}
              <span className="quiet">
                {formats.number(each.devices)} ({formats.percent(each.devices / devices)})
                {each.isOutlier && each.version !== newestKnown && <span title={text.rareHint}> {text.rare}</span>}
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
        {outdated > 0 && (
          <span className="quiet drift-newest">
            {text.withGateway(formats.number(reachable))}
            {isPart && step !== undefined && `, ${text.inCampaign(formats.number(targets), step.kind === 'draft')}`}
          </span>
        )}
        {step !== undefined && <NextStep product={product} step={step} />}
        {other !== undefined && (
          <Link
            to={other.to}
            search={other.search as never}
            aria-label={text.stepOf(nameOfOther, other.campaign?.name ?? title)}
          >
            {nameOfOther}
          </Link>
        )}
      </div>
    </>
  )
}

/** `NextStep` leads to the next step of the update of a product. The steps before a campaign are links next to their reason. */
function NextStep({ product, step: { kind, to, search } }: { product: DriftProduct; step: UpdateStep }) {
  const text = useText(driftMessages)
  const steps = useText(updateMessages)
  const navigate = useNavigate()
  if (kind === 'upload' || kind === 'scan')
    return (
      <span className="drift-step quiet">
        {kind === 'upload' && text.noArtefact(product.newestKnown ?? '')}
        <Link to={to} search={search as never} aria-label={text.stepOf(steps[kind], productTitle(product))}>
          {kind === 'upload' ? text.upload : steps.scan}
        </Link>
      </span>
    )
  return (
    <IxButton variant="secondary" onClick={() => navigate({ to, search: search as never })}>
      {steps[kind]}
    </IxButton>
  )
}
