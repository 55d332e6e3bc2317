import type { DriftProduct } from '@millwright/api/updates.ts'
import { iconInfo } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { driftFilter, productTitle } from '../product-filter.ts'
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
  const all = useQuery({ ...useTotalQuery(), enabled: canRead }).data?.meta.totalElements
  if (count === 0 || all === undefined) return null
  return (
    <section className="notice" data-tone="info" aria-label={text.outdatedTitle}>
      <Icon name={iconInfo} />
      <div>
        <p className="notice-title">{text.outdatedOf(shown, formats.number(all))}</p>
        <p>{text.outdatedReachable(withGateway, formats.number(withGateway))}</p>
        <ul className="outdated-products">
          {products.slice(0, shownProducts).map((product) => (
            <li key={`${product.manufacturer} ${product.product}`}>
              <Link to="/assets" search={{ filter: driftFilter(product) } as never}>
                {productTitle(product)}
              </Link>
              <span>{text.outdatedDevices(formats.number(product.outdated), formats.number(product.devices))}</span>
              <span>
                {text.haveGateway(formats.number(product.outdatedWithGateway ?? 0), formats.number(product.outdated))}
              </span>
              <Newest product={product} canUpload={canManage} />
              {canManage && <NextStep product={product} />}
            </li>
          ))}
        </ul>
        <div className="notice-actions">
          <Link to="/updates" search={{ view: 'drift', older: 'only' } as never}>
            {text.toOutdated(formats.number(products.length))}
          </Link>
        </div>
      </div>
    </section>
  )
}

/** `Newest` shows the newest known version of a product, and whether an artefact can install it. */
function Newest({ product, canUpload }: { product: DriftProduct; canUpload: boolean }) {
  const text = useText(campaignMessages)
  const { newestKnown, newestArtefactId } = product
  if (newestKnown === undefined) return <span />
  if (newestArtefactId !== undefined)
    return (
      <span>
        {text.newestVersion(newestKnown)},{' '}
        <Link to={`/updates/artefacts/${newestArtefactId}`}>{text.artefactReady}</Link>
      </span>
    )
  return (
    <span className="quiet">
      {text.noArtefact(newestKnown)}
      {canUpload && (
        <>
          {': '}
          <Link
            to="/updates"
            search={{ view: 'artefacts', add: 'yes' } as never}
            aria-label={text.uploadOneFor(productTitle(product))}
          >
            {text.uploadOne}
          </Link>
        </>
      )}
    </span>
  )
}

/** `NextStep` leads to a campaign if a gateway can reach a device of the product, and otherwise to a scan. */
function NextStep({ product }: { product: DriftProduct }) {
  const text = useText(campaignMessages)
  const title = productTitle(product)
  if ((product.outdatedWithGateway ?? 0) === 0)
    return (
      <Link to="/discovery" search={{ scan: 'any' } as never} aria-label={text.findDevicesOf(title)}>
        {text.findDevices}
      </Link>
    )
  const artefact = product.newestArtefactId !== undefined && { artefact: product.newestArtefactId }
  return (
    <Link
      to="/updates/campaigns/new"
      search={{ ...artefact, filter: driftFilter(product) } as never}
      aria-label={text.planUpdateOf(title)}
    >
      {text.planUpdate}
    </Link>
  )
}
