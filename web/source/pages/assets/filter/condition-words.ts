import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { valueName } from '../model/value-names.ts'
import { type ConditionList, conditionsOf } from './filter-conditions.ts'
import { operatorName } from './filter-panel.tsx'

/** Returns functions that show the parts of conditions with the names that people know. */
export function useConditionWords(properties: readonly AssetProperty[]) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const formats = useFormats()
  const propertyOf = (path: string) => properties.find((property) => property.path === path)
  const titleOf = (path: string) => propertyOf(path)?.title[language] ?? path
  const valueText = (path: string, value: string) =>
    propertyOf(path)?.kind === 'time' && !Number.isNaN(Date.parse(value))
      ? formats.dateTime(value)
      : valueName(path, value, language)
  const operatorText = ({ path, operator }: ConditionList['conditions'][number]) =>
    `${titleOf(path)} ${operatorName(operator, text)}`
  return {
    titleOf,
    valueText,
    operatorText,
    /** Returns the conditions of a filter in words. All of them must match. Other filters are one text in the filter language. */
    filterTexts: (filter: string): string[] => {
      const list = conditionsOf(filter)
      if (list === undefined) return [filter]
      const texts = list.conditions.map((each) =>
        each.value === ''
          ? operatorText(each)
          : `${operatorText(each)} ${text.quoted(valueText(each.path, each.value))}`,
      )
      return list.join === 'or' ? [texts.join(` ${text.or} `)] : texts
    },
  }
}
