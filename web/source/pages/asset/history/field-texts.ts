import type { Language, Title } from '../../../app/language/language.ts'
import { useLanguage } from '../../../app/language/language-context.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { valueName } from '../../assets/model/value-names.ts'
import { fieldPathText, valueText } from './differences.ts'

const product = 'product_instance_information/manufacturer_product'

/** The names of fields that are not columns of the asset table. */
const otherNames: Readonly<Record<string, Title>> = {
  functional_object_schema_url: { en: 'Schema', de: 'Schema' },
  [`${product}/manufacturer`]: { en: 'Manufacturer', de: 'Hersteller' },
  [`${product}/product_link`]: { en: 'Product link', de: 'Produkt-Link' },
  [`${product}/product_type`]: { en: 'Product type', de: 'Produkttyp' },
  connection_points: { en: 'Connection point', de: 'Anschluss' },
  software_components: { en: 'Software', de: 'Software' },
  instance_annotations: { en: 'Annotation', de: 'Anmerkung' },
  location: { en: 'Location', de: 'Standort' },
}

/**
 * Returns the name of a field from `otherNames`. Elements of lists are counted from 1, and fields in an element follow:
 * `connection_points/0/name` becomes `Connection point 1 › name`.
 */
function nameInList(field: string, language: Language): string | undefined {
  const [, list = field, index, rest] = /^(\w+)\/(\d+)(?:\/(.+))?$/.exec(field) ?? []
  const name = otherNames[list]?.[language]
  if (name === undefined || index === undefined) return name
  const element = `${name} ${Number(index) + 1}`
  return rest === undefined ? element : `${element} › ${fieldPathText(rest)}`
}

/**
 * Returns functions for the display names of fields and of their values. A field without a display name is shown as its
 * path.
 */
export function useFieldTexts() {
  const language = useLanguage()
  const properties = useAssetProperties()
  const fieldName = (field: string) =>
    properties.find(({ path }) => path === field)?.title[language] ??
    nameInList(field, language) ??
    capitalized(fieldPathText(field))
  const fieldValueText = (field: string, value: unknown) =>
    typeof value === 'string' ? valueName(field, value, language) : valueText(value)
  return { fieldName, fieldValueText }
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
