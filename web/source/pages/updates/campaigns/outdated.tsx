import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { iconInfo } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { updateMessages } from '../messages.ts'
import { driftFilter, productTitle } from '../product-filter.ts'
import { useOpenCampaigns } from '../update-data.ts'
import { updateStepsOf } from '../update-step.ts'
import { DraftTargets } from './draft-targets.tsx'
import { campaignMessages } from './messages.ts'

type Outdated = {
  count: number
  shown: string
  /** The number of outdated assets that have a gateway. */
  withGateway: number
  /** The products with outdated assets. The products that campaigns can update now come first. */
  products: readonly DriftProduct[]
}

/** Returns the number of assets whose firmware is older than the newest known version of their product. */
export function useOutdated(): Outdated {
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const { rows, total } = usePagedList(
    ['updates', 'listDrift'],
    { query: { withGateways: true } },
    { live: ['inventory.asset', 'updates.artefact'], isEnabled: canRead },
  )
  const count = rows.reduce((sum, product) => sum + product.outdated, 0)
  const withGateway = rows.reduce((sum, product) => sum + (product.outdatedWithGateway ?? 0), 0)
  const products = rows
    .filter(({ outdated }) => outdated > 0)
    .toSorted((one, other) => (other.outdatedWithGateway ?? 0) - (one.outdatedWithGateway ?? 0))
  return { count, withGateway, products, shown: `${formats.number(count)}${rows.length >= total ? '' : '+'}` }
}

/** The number of products in the summary. The view of the versions lists all of them. */
const shownProducts = 3

/**
 * `OutdatedSummary` states how many assets are outdated, and how many of them campaigns can reach. It lists the products with most of
 * them, and what each still needs for an update.
 */
export function OutdatedSummary() {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const canManage = usePermission('glb_update_manage')
  const { count, shown, withGateway, products } = useOutdated()
  const shownOnes = products.slice(0, shownProducts)
  const campaigns = useOpenCampaigns(shownOnes)
  const all = useQuery({ ...useTotalQuery(), enabled: canRead }).data?.meta.totalElements
  if (count === 0 || all === undefined) return null
  return (
    <section className="notice" data-tone="info" aria-label={text.outdatedTitle}>
      <Icon name={iconInfo} />
      <div>
        <p className="notice-title">{text.outdatedOf(shown, formats.number(all))}</p>
        <p>{text.outdatedReachable(withGateway, formats.number(withGateway))}</p>
        <p className="quiet">{text.newestSource}</p>
        <PlainTable
          className="outdated-products stacked-table"
          columns={[
            text.product,
            text.outdatedColumn,
            text.gatewayColumn,
            text.newestColumn,
            ...(canManage ? [text.nextStep] : []),
          ]}
        >
          {shownOnes.map((product) => (
            <tr key={`${product.manufacturer} ${product.product}`}>
              <td>
                <Link to="/assets" search={{ filter: driftFilter(product) } as never}>
                  {productTitle(product)}
                </Link>
              </td>
              <td data-label={text.outdatedColumn}>
                {text.partOf(formats.number(product.outdated), formats.number(product.devices))}
              </td>
              <td data-label={text.gatewayColumn}>
                {text.partOf(formats.number(product.outdatedWithGateway ?? 0), formats.number(product.outdated))}
              </td>
              <td data-label={text.newestColumn}>
                <Newest product={product} />
              </td>
              {canManage && (
                <td data-label={text.nextStep}>
                  <NextSteps product={product} campaigns={campaigns} />
                </td>
              )}
            </tr>
          ))}
        </PlainTable>
        <div className="notice-actions">
          <Link to="/updates" search={{ view: 'drift', older: 'only' } as never}>
            {text.toOutdated(formats.number(products.length))}
          </Link>
        </div>
      </div>
    </section>
  )
}

/** `Newest` shows the newest known version of a product, and whether it is the version of an artefact or of devices. */
function Newest({ product: { newestKnown, newestArtefactId, versions } }: { product: DriftProduct }) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  if (newestKnown === undefined) return null
  const inUse = versions.find(({ version }) => version === newestKnown)?.devices ?? 0
  return (
    <>
      {newestKnown},{' '}
      {newestArtefactId === undefined ? (
        text.inUse(inUse, formats.number(inUse))
      ) : (
        <Link to={`/updates/artefacts/${newestArtefactId}`}>{text.uploadedArtefact}</Link>
      )}
    </>
  )
}

type NextStepsProps = { product: DriftProduct; campaigns: readonly Campaign[] }

/** `NextSteps` leads to the next steps of the update of a product. Next to a draft, it shows how many assets the draft selects. */
function NextSteps({ product, campaigns }: NextStepsProps) {
  const text = useText(campaignMessages)
  const steps = useText(updateMessages)
  return updateStepsOf(product, campaigns).map(({ kind, to, search, campaign }, index) => (
    <Fragment key={to}>
      {index > 0 && <br />}
      <Link
        to={to}
        search={search as never}
        aria-label={text.stepOf(steps[kind], campaign?.name ?? productTitle(product))}
      >
        {steps[kind]}
      </Link>
      {campaign !== undefined && kind === 'draft' && (
        <>
          {' · '}
          <DraftTargets targets={campaign.targets} />
        </>
      )}
    </Fragment>
  ))
}
