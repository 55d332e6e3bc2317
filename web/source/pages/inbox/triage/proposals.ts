import type { Proposal } from '@millwright/api/inbox.ts'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import type { AssetPages } from '../../assets/table/asset-pages.ts'

export type CountedProposals = Output<'inbox', 'countProposals'>['data']

const none: ReadonlyMap<string, Proposal> = new Map()
/** The maximum number of assets whose proposals are requested. */
const maxAssets = 100

/** Returns the targets that onboarding rules propose for the visible assets, and the number of proposals of each rule. */
export function useProposals(
  pages: AssetPages,
  { first, last }: { first: number; last: number },
  isEnabled: boolean,
): { byAsset: ReadonlyMap<string, Proposal>; counted: CountedProposals | undefined; hasRules: boolean } {
  const query = useOperationQuery()
  const live = { live: ['inventory.asset', 'inbox.rule'] }
  const counted = useQuery({ ...query(['inbox', 'countProposals'], {}, live), enabled: isEnabled }).data?.data
  const hasRules = isEnabled && (counted?.rules ?? []).some(({ assets }) => assets > 0)
  const assetIds = [...pages.loaded(first, Math.min(last, first + maxAssets - 1))].map(({ id }) => id)
  const input = { body: { data: { assetIds } } }
  const { data } = useQuery({
    ...query(['inbox', 'proposeTargets'], input, { live: ['inbox.rule'] }),
    enabled: hasRules && assetIds.length > 0,
    placeholderData: (before) => before,
  })
  const byAsset = useMemo(
    () => (hasRules && data !== undefined ? new Map(data.data.map((each) => [each.assetId, each])) : none),
    [hasRules, data],
  )
  return { byAsset, counted, hasRules }
}
