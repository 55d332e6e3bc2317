import { type Campaign, updateLimits } from '@millwright/api/updates.ts'
import { useQuery } from '@tanstack/react-query'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { campaignMessages } from './messages.ts'

/** `DraftTargets` shows how many assets a draft selects now. The plan decides which of them get the update. */
export function DraftTargets({ targets }: Pick<Campaign, 'targets'>) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const filter = 'filter' in targets ? targets.filter : undefined
  const counted = useQuery({ ...useTotalQuery(filter), enabled: filter !== undefined }).data?.meta.totalElements
  const count = 'filter' in targets ? counted : targets.assetIds.length
  // The list of a draft is empty for a caller that cannot read its targets.
  if (count === undefined || (count === 0 && filter === undefined))
    return <span className="quiet">{text.notStarted}</span>
  // A list contains a limited number of the targets of each campaign.
  const isMore = 'assetIds' in targets && count === updateLimits.shownTargets
  return <span className="quiet">{text.selectedAssets(count, `${formats.number(count)}${isMore ? '+' : ''}`)}</span>
}
