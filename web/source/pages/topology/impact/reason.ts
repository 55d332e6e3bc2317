import type { ImpactedAsset } from '@millwright/api/inventory/impact.ts'
import type { Language } from '../../../app/language/language.ts'
import { relationName } from '../../../components/graph/predicate-name.ts'
import { impactMessages } from './messages.ts'

type ReasonOptions = {
  /** The id of the asset of the analysis. The heading names it, so reasons do not repeat its name. */
  assetId: string
  /** The predicate of the relation to the asset of the analysis, if it is known. */
  predicate: string | undefined
  /** Returns the name of an asset between the two assets. */
  nameOf: (id: string) => string
  language: Language
}

/** Returns in words why an asset is affected. */
export function reasonText(
  { effect, reason, via }: Pick<ImpactedAsset, 'effect' | 'reason' | 'via'>,
  { assetId, predicate, nameOf, language }: ReasonOptions,
): string {
  const text = impactMessages[language]
  if (reason === 'network') return effect === 'affected' ? text.onlyPath : text.otherPath
  if (reason === 'redundancy') return text.redundancy
  if (via !== undefined && via !== assetId) return text.through(nameOf(via))
  return predicate === undefined ? text.direct : `${relationName(predicate, 'out', language)} ${text.thisAsset}`
}
