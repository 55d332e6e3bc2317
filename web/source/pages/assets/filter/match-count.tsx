import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { assetsMessages } from '../messages.ts'

/** `MatchCount` shows how many assets match the filter now, or what is wrong with the filter. */
export function MatchCount({ filter }: { filter: string }) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const shown = useDeferredValue(filter.trim())
  const counted = useQuery({
    ...query(
      ['inventory', 'listAssets'],
      { query: { limit: 1, fields: 'id', filter: shown || 'id ne null' } },
      { live: ['inventory.asset'] },
    ),
    enabled: canRead && shown !== '',
    retry: false,
    placeholderData: (before) => before,
  })
  if (!canRead || shown === '') return null
  if (counted.error !== null) return <ProblemMessage failure={counted.error} />
  const count = counted.data?.meta.totalElements
  return (
    <p className="field-hint" role="status">
      {count === undefined ? text.countingMatches : text.matchCount(count, formats.number(count))}
    </p>
  )
}
