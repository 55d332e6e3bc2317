import { iconGraph } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useText } from '../../app/language/language-context.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { mapMessages } from './map-messages.ts'

/** `NoTopology` is shown instead of the map if there are no assets. */
export function NoTopology({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  const text = useText(mapMessages)
  return (
    <EmptyState icon={iconGraph} title={isFiltered ? text.noMatches : text.emptyTitle}>
      <p>{isFiltered ? text.noMatchesHint : text.emptyHint}</p>
      {isFiltered && (
        <IxButton variant="secondary" onClick={onClear}>
          {text.clear}
        </IxButton>
      )}
    </EmptyState>
  )
}
