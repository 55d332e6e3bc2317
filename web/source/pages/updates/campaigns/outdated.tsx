import type { DriftProduct } from '@millwright/api/updates.ts'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { updateMessages } from '../messages.ts'
import { driftFilter, productTitle } from '../product-filter.ts'
import { useTargetCount, useUpdateSteps, versionRefresh } from '../update-data.ts'
import type { UpdateStep } from '../update-step.ts'
import { campaignMessages } from './messages.ts'

type Outdated = {
  count: number
  shown: string
  /** The number of outdated assets that have a gateway. */
  withGateway: number
  /** The products with outdated assets. The products with the most outdated assets that have a gateway come first. */
  products: readonly DriftProduct[]
}

/** Returns the number of assets whose firmware is older than the newest known version of their product. */
export function useOutdated(): Outdated {
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const { rows, total } = usePagedList(
    ['updates', 'listDrift'],
    { query: { withGateways: true } },
    { ...versionRefresh, isEnabled: canRead },
  )
  const count = rows.reduce((sum, product) => sum + product.outdated, 0)
  const withGateway = rows.reduce((sum, product) => sum + (product.outdatedWithGateway ?? 0), 0)
  const products = rows
    .filter(({ outdated }) => outdated > 0)
    .toSorted((one, other) => (other.outdatedWithGateway ?? 0) - (one.outdatedWithGateway ?? 0))
  return { count, withGateway, products, shown: `${formats.number(count)}${rows.length >= total ? '' : '+'}` }
}

/** The number of products that are listed. The view of the versions lists all of them. */
const shownProducts = 5

/**
 * `OutdatedProducts` states how many assets are outdated, and lists the products of which campaigns can update the most devices, each
 * with its next step.
 */
export function OutdatedProducts() {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canManage = usePermission('glb_update_manage')
  const outdated = useOutdated()
  const { products } = outdated
  const shown = products.slice(0, shownProducts)
  const stepsOf = useUpdateSteps(shown)
  if (shown.length === 0) return null
  const part = (count: number, all: number) => text.partOf(formats.number(count), formats.number(all))
  const order =
    shown.length < products.length
      ? text.topProducts(formats.number(shown.length), formats.number(products.length))
      : text.productOrder
  const actions = (
    <>
      {shown.length > 1 && <span className="quiet">{order}</span>}
      <Link to="/updates" search={{ view: 'drift', older: 'only' } as never}>
        {text.showProducts}
      </Link>
    </>
  )
  return (
    <div className="outdated-products">
      <Card title={text.products} actions={actions}>
        <OutdatedSummary {...outdated} />
        <PlainTable
          className="stacked-table"
          columns={[
            text.product,
            text.outdatedColumn,
            text.withGatewayColumn,
            text.newestColumn,
            ...(canManage ? [text.nextStep] : []),
          ]}
        >
          {shown.map((product) => (
            <tr key={`${product.manufacturer} ${product.product}`}>
              <td>
                <Link to="/assets" search={{ filter: driftFilter(product) } as never}>
                  {productTitle(product)}
                </Link>
              </td>
              <td data-label={text.outdatedColumn}>{part(product.outdated, product.devices)}</td>
              <td data-label={text.withGatewayColumn}>{formats.number(product.outdatedWithGateway ?? 0)}</td>
              <td data-label={text.newestColumn}>{product.newestKnown}</td>
              {canManage && (
                <td data-label={text.nextStep}>
                  <NextStep product={product} step={stepsOf(product)[0]} />
                </td>
              )}
            </tr>
          ))}
        </PlainTable>
      </Card>
    </div>
  )
}

type NextStepProps = { product: DriftProduct; step: UpdateStep | undefined }

/** `NextStep` leads to the next step of a product. For a campaign with a part of its assets, it shows how many they are. */
function NextStep({ product, step }: NextStepProps) {
  const text = useText(campaignMessages)
  const steps = useText(updateMessages)
  const formats = useFormats()
  const targets = useTargetCount(product, step?.campaign)
  if (step === undefined) return null
  const { kind, to, search, campaign } = step
  const { outdatedWithGateway: reachable = 0 } = product
  const isPart = targets !== undefined && targets > 0 && targets < reachable
  return (
    <span>
      <Link
        to={to}
        search={search as never}
        aria-label={text.stepOf(steps[kind], campaign?.name ?? productTitle(product))}
      >
        {steps[kind]}
      </Link>
      {isPart && (
        <span className="quiet"> {text.partOfAssets(formats.number(targets), formats.number(reachable))}</span>
      )}
    </span>
  )
}

/** `OutdatedSummary` states how many assets are outdated, and how many of them campaigns can reach. */
function OutdatedSummary({ count, shown, withGateway }: Outdated) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canScan = usePermission('glb_discovery_run')
  const without = count - withGateway
  return (
    <p className="card-lead">
      {text.outdatedFirmware(count, shown)} {text.withGateway(withGateway, formats.number(withGateway))}
      {without > 0 && (
        <>
          {' '}
          {text.withoutGateway(without, formats.number(without))}
          {canScan && (
            <>
              {': '}
              <Link to="/discovery" search={{ scan: 'any' } as never}>
                {text.findByScan}
              </Link>
            </>
          )}
          {'.'}
        </>
      )}
    </p>
  )
}
