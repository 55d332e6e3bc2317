import { useQueries } from '@tanstack/react-query'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useRovingFocus } from '../../../components/actions/roving-focus.ts'
import { StatusText } from '../../../components/values/status-text.tsx'
import { stoppedFilter, unreachableFilter, useTotalQuery } from '../../start/plant-queries.ts'
import { assetsMessages } from '../messages.ts'
import { conditionTones } from '../model/condition.ts'
import type { View } from '../views/view-search.ts'
import { hasQuickFilters } from './quick-filter.ts'

/** The start page counts the assets with the same filters, so both pages share the requests. */
const filters = [
  { condition: 'failed', filter: unreachableFilter },
  { condition: 'stopped', filter: stoppedFilter },
] as const

/** Returns whether the active filter is one of the shown filters with numbers. */
export function isQuickFilter(view: View): boolean {
  return view.filter !== '' && areShown(view)
}

function areShown(view: View): boolean {
  return hasQuickFilters(
    view,
    filters.map(({ filter }) => filter),
  )
}

type QuickFiltersProps = { view: View; onShow: (change: Partial<View>) => void }

/** `QuickFilters` shows how many assets have a problem. A click on a problem lists these assets. */
export function QuickFilters({ view, onShow }: QuickFiltersProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const roving = useRovingFocus<HTMLDivElement>('button')
  const isShown = areShown(view)
  const queries = [useTotalQuery(unreachableFilter), useTotalQuery(stoppedFilter)] as const
  const totals = useQueries({ queries: queries.map((query) => ({ ...query, enabled: isShown })) })
  const shown = filters
    .map((each, index) => ({ ...each, count: totals[index]?.data?.meta.totalElements ?? 0 }))
    .filter(({ count, filter }) => isShown && (count > 0 || filter === view.filter))
  return (
    <div
      className="quick-filters"
      {...(shown.length > 0 && { role: 'toolbar', 'aria-label': text.problems })}
      {...roving}
    >
      {shown.map(({ condition, filter, count }) => (
        <button
          key={condition}
          type="button"
          className="filter-chip"
          aria-pressed={filter === view.filter}
          onClick={() => onShow({ filter: filter === view.filter ? '' : filter })}
        >
          <StatusText tone={conditionTones[condition]}>
            {text[condition]} <strong>{formats.number(count)}</strong>
          </StatusText>
        </button>
      ))}
    </div>
  )
}
