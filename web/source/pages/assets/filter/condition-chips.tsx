import { useText } from '../../../app/language/language-context.tsx'
import { type FilterChip, FilterChips } from '../../../components/forms/filter-chips.tsx'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import type { View } from '../views/view-search.ts'
import { useConditionWords } from './condition-words.ts'
import { conditionsOf, filterOf } from './filter-conditions.ts'

type ConditionChipsProps = {
  view: View
  properties: readonly AssetProperty[]
  onShow: (change: Partial<View>) => void
}

/**
 * `ConditionChips` shows the conditions of the filter, the selected group, and whether the search looks inside words. A
 * click on a chip removes its condition.
 */
export function ConditionChips({ view, properties, onShow }: ConditionChipsProps) {
  const text = useText(assetsMessages)
  const { titleOf, valueText, operatorText } = useConditionWords(properties)
  const list = conditionsOf(view.filter)
  const chips: FilterChip[] = []
  if (list === undefined) {
    chips.push({ id: 'filter', label: `${text.asText}:`, value: view.filter, onRemove: () => onShow({ filter: '' }) })
  } else {
    for (const [index, condition] of list.conditions.entries()) {
      const { path, value } = condition
      const join = index > 0 && list.join === 'or' ? `${text.or} ` : ''
      chips.push({
        id: `${index} ${path}`,
        label: `${join}${operatorText(condition)}`,
        value: valueText(path, value),
        onRemove: () => onShow({ filter: filterOf({ ...list, conditions: list.conditions.toSpliced(index, 1) }) }),
      })
    }
  }
  if (view.by !== '' && view.in !== undefined) {
    chips.push({
      id: 'group',
      label: `${titleOf(view.by)} ${text.eq}`,
      value: view.in === 'null' ? text.withoutValue : valueText(view.by, view.in),
      onRemove: () => onShow({ in: undefined }),
    })
  }
  if (chips.length === 0 && view.q === '') return null
  return (
    <div className="condition-chips">
      <FilterChips chips={chips} onClear={chips.length === 0 ? undefined : () => onShow({ filter: '', in: undefined })}>
        {view.q !== '' && view.match !== 'inside' && (
          <button type="button" className="link-button" onClick={() => onShow({ match: 'inside' })}>
            {text.searchInside}
          </button>
        )}
      </FilterChips>
      {view.q !== '' && view.match === 'inside' && <span className="quiet">{text.searchedInside}</span>}
    </div>
  )
}
