import type { DriftProduct } from '@millwright/api/updates.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { andFilters, quoted } from '../assets/filter/filter-conditions.ts'
import { driftFilter } from '../updates/product-filter.ts'
import { versionKindNames, versionKindOf, versionKinds, versionShades } from '../updates/version-kinds.ts'
import { startMessages } from './messages.ts'
import { useDrift } from './plant-queries.ts'
import '../updates/version-kinds.css'

const maxProducts = 5
const maxOutliers = 2

/** `DriftCard` shows the products with the most devices that have older firmware, the versions in use, and versions that few devices have. */
export function DriftCard() {
  const text = useText(startMessages)
  const kinds = useText(versionKindNames)
  const canOpenUpdates = usePermission('glb_jobs_read')
  const drift = useDrift()
  return (
    <Card
      title={text.drift}
      actions={
        canOpenUpdates && (
          <Link to="/updates" search={{ view: 'drift' } as never}>
            {text.allProducts}
          </Link>
        )
      }
    >
      <QueryState query={drift}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{text.noDrift}</p>
          ) : (
            <>
              <ul className="start-drift-key" aria-hidden="true">
                {versionKinds.map((kind) => (
                  <li key={kind} data-version={kind}>
                    {kinds[kind]}
                  </li>
                ))}
              </ul>
              <ul className="start-drift">
                {data.slice(0, maxProducts).map((product) => (
                  <li key={`${product.manufacturer} ${product.product}`}>
                    <Product product={product} />
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryState>
    </Card>
  )
}

function Product({ product }: { product: DriftProduct }) {
  const text = useText(startMessages)
  const formats = useFormats()
  const { manufacturer, productName, versions, devices, outdated, newestKnown } = product
  const name = productName ?? product.product
  const title = name.startsWith(manufacturer) ? name : `${manufacturer} ${name}`
  const filter = driftFilter(product)
  const shadeOf = versionShades(product)
  const isInUse = versions.some(({ version }) => version === newestKnown)
  const outliers = versions
    .filter((version) => version.isOutlier && versionKindOf(version, newestKnown) === 'older')
    .slice(-maxOutliers)
  const facts = versions.map((each) => `${each.version ?? text.unknownVersion}: ${formats.number(each.devices)}`)
  return (
    <>
      <Link to="/assets" search={{ filter } as never} title={title}>
        {title}
      </Link>
      <span>
        <span className={outdated > 0 ? 'start-outdated' : 'quiet'}>
          {outdated > 0 ? text.olderCount(formats.number(outdated), formats.number(devices)) : text.upToDate}
        </span>
        {newestKnown !== undefined && (
          <span className="quiet">
            {' · '}
            {isInUse ? text.newestSeen(newestKnown) : text.newestFile(newestKnown)}
          </span>
        )}
      </span>
      <span className="start-versions" role="img" aria-label={facts.join(', ')} title={facts.join('\n')}>
        {versions.map((each) => (
          <span
            key={String(each.version)}
            data-version={versionKindOf(each, newestKnown)}
            style={{ ...shadeOf(each), flexGrow: each.devices }}
            aria-hidden="true"
          />
        ))}
      </span>
      {outliers.length > 0 && (
        <span className="start-detail">
          {outliers.map(({ version, devices: count }) => (
            <Link
              key={version}
              to="/assets"
              search={{ filter: andFilters(filter, `firmware_version eq ${quoted(version ?? '')}`) } as never}
            >
              {text.outliers(count, formats.number(count), version ?? '')}
            </Link>
          ))}
        </span>
      )}
    </>
  )
}
