import { iconInfo } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { campaignMessages } from './messages.ts'

/** Returns the number of assets whose firmware is older than the newest known version of their product. */
export function useOutdated(): { count: number; shown: string } {
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const { rows, total } = usePagedList(
    ['updates', 'listDrift'],
    {},
    { live: ['inventory.asset', 'updates.artefact'], isEnabled: canRead },
  )
  const count = rows.reduce((sum, product) => sum + product.outdated, 0)
  return { count, shown: `${formats.number(count)}${rows.length >= total ? '' : '+'}` }
}

/** `OutdatedSummary` states how many assets are outdated, and leads to their versions. */
export function OutdatedSummary() {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const canRead = usePermission('inventory_read_asset_data')
  const { count, shown } = useOutdated()
  const all = useQuery({ ...useTotalQuery(), enabled: canRead }).data?.meta.totalElements
  if (count === 0 || all === undefined) return null
  return (
    <section className="notice" data-tone="info" aria-label={text.outdatedTitle}>
      <Icon name={iconInfo} />
      <div>
        <p className="notice-title">{text.outdatedOf(shown, formats.number(all))}</p>
        <div className="notice-actions">
          <Link to="/updates" search={{ view: 'drift', older: 'only' } as never}>
            {text.toOutdated}
          </Link>
        </div>
      </div>
    </section>
  )
}
