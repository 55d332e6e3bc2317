import { iconInfo } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { campaignMessages } from './messages.ts'

type Outdated = {
  count: number
  shown: string
  /** The number of outdated assets that have a gateway. */
  withGateway: number
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
  return { count, withGateway, shown: `${formats.number(count)}${rows.length >= total ? '' : '+'}` }
}

/** `OutdatedSummary` states how many assets are outdated, and how many of them campaigns can reach, with links to the next steps. */
export function OutdatedSummary() {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canManage = usePermission('glb_update_manage')
  const canScan = usePermission('glb_discovery_run')
  const { count, shown, withGateway } = useOutdated()
  if (count === 0) return null
  const without = count - withGateway
  return (
    <section className="notice" data-tone="info" aria-label={text.outdatedTitle}>
      <Icon name={iconInfo} />
      <div>
        <p>
          <strong>{text.outdatedFirmware(count, shown)}</strong> {text.outdatedMeaning}
        </p>
        <p>
          {text.withGateway(withGateway, formats.number(withGateway))}
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
        <div className="notice-actions">
          <Link to="/updates" search={{ view: 'drift', older: 'only' } as never}>
            {canManage ? text.planByProduct : text.showOutdated}
          </Link>
        </div>
      </div>
    </section>
  )
}
