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

/** Returns the number of assets whose firmware is older than the newest known version of their product. */
export function useOutdated(): { count: number; shown: string; products: readonly DriftProduct[] } {
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const { rows, total } = usePagedList(
    ['updates', 'listDrift'],
    {},
    { live: ['inventory.asset', 'updates.artefact'], isEnabled: canRead },
  )
  const count = rows.reduce((sum, product) => sum + product.outdated, 0)
  const products = rows.filter(({ outdated }) => outdated > 0)
  return { count, products, shown: `${formats.number(count)}${rows.length >= total ? '' : '+'}` }
}

/** The number of products in the summary. The view of the versions lists all of them. */
const shownProducts = 3

/** `OutdatedSummary` states how many assets are outdated, and lists the products with most of them. */
export function OutdatedSummary() {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const canManage = usePermission('glb_update_manage')
  const { count, shown, products } = useOutdated()
  const all = useQuery({ ...useTotalQuery(), enabled: canRead }).data?.meta.totalElements
  if (count === 0 || all === undefined) return null
  return (
    <section className="notice" data-tone="info" aria-label={text.outdatedTitle}>
      <Icon name={iconInfo} />
      <div>
        <p className="notice-title">{text.outdatedOf(shown, formats.number(all))}</p>
        <ul className="outdated-products">
          {products.slice(0, shownProducts).map((product) => (
            <li key={`${product.manufacturer} ${product.product}`}>
              <Link to="/assets" search={{ filter: driftFilter(product) } as never}>
                {productTitle(product)}
              </Link>
              <span>{text.outdatedDevices(formats.number(product.outdated), formats.number(product.devices))}</span>
              <span className="quiet">
                {product.newestKnown !== undefined && text.newestVersion(product.newestKnown)}
              </span>
              {canManage && (
                <Link
                  to="/updates/campaigns/new"
                  search={
                    {
                      ...(product.newestArtefactId !== undefined && { artefact: product.newestArtefactId }),
                      filter: driftFilter(product),
                    } as never
                  }
                  aria-label={text.planUpdateOf(productTitle(product))}
                >
                  {text.planUpdate}
                </Link>
              )}
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
