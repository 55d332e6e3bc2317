import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useRovingFocus } from '../../../components/actions/roving-focus.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { valueName } from '../model/value-names.ts'

type GroupPanelProps = {
  property: AssetProperty
  filter: string
  chosen: string | undefined
  onChoose: (group: string | undefined) => void
}

/** `GroupPanel` lists the values of a property with their counts. Selecting a value filters the table. The list is one tab stop. */
export function GroupPanel({ property, filter, chosen, onChoose }: GroupPanelProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const formats = useFormats()
  const query = useOperationQuery()
  const facets = useQuery(
    query(
      ['inventory', 'readFacets'],
      { query: { by: property.path, limit: 100, ...(filter !== '' && { filter }) } },
      { live: ['inventory.asset'] },
    ),
  )
  const total = useQuery(useTotalQuery(filter === '' ? undefined : filter)).data?.meta.totalElements
  const label = (value: string | null) =>
    value === null ? text.withoutValue : valueName(property.path, value, language)
  const roving = useRovingFocus<HTMLElement>('button', true)
  return (
    <nav className="group-panel" {...roving} aria-label={text.group(property.title[language])}>
      <h2 className="group-title">{property.title[language]}</h2>
      {/* Errors are not shown here, because the table already shows them. */}
      {facets.isPending && <Loading />}
      {facets.data !== undefined && (
        <ul>
          <GroupItem
            isChosen={chosen === undefined}
            onChoose={() => onChoose(undefined)}
            {...(total !== undefined && { count: formats.number(total) })}
          >
            {text.allOfThem}
          </GroupItem>
          {facets.data.data.map(({ value, count }) => (
            <GroupItem
              key={String(value)}
              isChosen={chosen === String(value)}
              count={formats.number(count)}
              onChoose={() => onChoose(String(value))}
            >
              {label(value)}
            </GroupItem>
          ))}
        </ul>
      )}
    </nav>
  )
}

type GroupItemProps = { isChosen: boolean; count?: string; onChoose: () => void; children: string }

function GroupItem({ isChosen, count, onChoose, children }: GroupItemProps) {
  return (
    <li>
      <button
        type="button"
        className="group-item"
        aria-current={isChosen || undefined}
        title={children}
        onClick={onChoose}
      >
        <span className="group-name">{children}</span>
        {count !== undefined && <span className="group-count">{count}</span>}
      </button>
    </li>
  )
}
