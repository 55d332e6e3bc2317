import { assetClassOf } from '@millwright/api/asset-class.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { assetClassIcons } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, nameOf, textAt, textsIn } from '../assets/model/asset.ts'
import { startMessages } from './messages.ts'

const LiveMap = lazy(async () => ({ default: (await import('../topology/live-map.tsx')).LiveMap }))

const maxShown = 6
const product = 'product_instance_information/manufacturer_product'

/** `ScanFeed` shows the devices that the first scan finds: on a map, and the newest ones as a list. */
export function ScanFeed() {
  const text = useText(startMessages)
  const query = useOperationQuery()
  const newest = useQuery(
    query(
      ['inventory', 'listAssets'],
      {
        query: {
          filter: "functional_object_type eq 'Device'",
          sort: '-created_timestamp',
          limit: maxShown,
          count: false,
          fields: 'id,name,connection_points,product_instance_information,functional_object_type,created_timestamp',
        },
      },
      { live: ['inventory.asset'] },
    ),
  )
  const assets = (newest.data?.data ?? []) as Asset[]
  return (
    <section className="scan-feed" aria-labelledby="scan-feed">
      <div className="card-head">
        <h2 id="scan-feed">{text.feed}</h2>
        <Link to="/topology">{text.openMap}</Link>
      </div>
      <div className="scan-map">
        <Suspense fallback={<Loading />}>
          <LiveMap />
        </Suspense>
      </div>
      {assets.length === 0 ? (
        <p className="quiet" role="status">
          {text.feedWaiting}
        </p>
      ) : (
        <ul className="start-list scan-found" aria-label={text.newestDevices}>
          {assets.map((asset) => (
            <FoundDevice key={asset.id} asset={asset} />
          ))}
        </ul>
      )}
    </section>
  )
}

function FoundDevice({ asset }: { asset: Asset }) {
  const name = nameOf(asset)
  const kind = assetClassOf({
    type: textAt(asset, 'functional_object_type'),
    family: textAt(asset, `${product}/product_family`),
    product: textAt(asset, `${product}/product_name`),
    name,
  })
  const facts = [
    textAt(asset, `${product}/manufacturer/name`),
    textAt(asset, `${product}/product_name`),
    textsIn(asset, 'connection_points', 'ipv4_address')[0] ?? '',
  ]
  return (
    <li>
      <Icon name={assetClassIcons[kind]} />
      <Link className="plain-link" to={`/assets/${asset.id}`}>
        {name}
      </Link>
      <span className="quiet scan-facts">{facts.filter((fact) => fact !== '').join(' · ')}</span>
      <span className="quiet">
        <Time at={textAt(asset, 'created_timestamp')} isRelative />
      </span>
    </li>
  )
}
