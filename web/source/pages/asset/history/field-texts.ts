import { useLanguage } from '../../../app/language/language-context.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { valueName } from '../../assets/model/value-names.ts'
import { fieldPathText, valueText } from './differences.ts'

/**
 * Returns functions for the display names of fields and of their values. A field without a display name is shown as its
 * path.
 */
export function useFieldTexts() {
  const language = useLanguage()
  const properties = useAssetProperties()
  const fieldName = (field: string) =>
    properties.find(({ path }) => path === field)?.title[language] ?? fieldPathText(field)
  const fieldValueText = (field: string, value: unknown) =>
    typeof value === 'string' ? valueName(field, value, language) : valueText(value)
  return { fieldName, fieldValueText }
}
