import { assetColumnTargets, assetHeadings, idTarget, propertyTarget } from '@millwright/api/asset-columns.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../../app/api/queries.ts'
import type { Language, Title } from '../../../app/language/language.ts'
import { useLanguage } from '../../../app/language/language-context.tsx'
import type { Choice } from '../../../components/forms/fields.tsx'

/** The German names of the fields. The English names are the headings of the template. */
const germanNames: Readonly<Record<string, string>> = {
  name: 'Name',
  functional_object_type: 'Typ',
  description: 'Beschreibung',
  manufacturer: 'Hersteller',
  product: 'Produkt',
  order_number: 'Artikelnummer',
  serial_number: 'Seriennummer',
  hardware_version: 'Hardwareversion',
  firmware_version: 'Firmwareversion',
  mac_address: 'MAC-Adresse',
  ip_address: 'IP-Adresse',
  access_group: 'Zugriffsgruppe',
  hierarchy_path: 'Hierarchiepfad',
  parent: 'Übergeordnetes Asset',
  id: 'ID',
}

function titleOf(target: (typeof assetColumnTargets)[number] | typeof idTarget): Title {
  return { en: assetHeadings[target], de: germanNames[target] ?? assetHeadings[target] }
}

function fixedFields(language: Language): Choice[] {
  const targets = [...assetColumnTargets, idTarget] as const
  return targets.map((value) => ({ value, label: titleOf(value)[language] }))
}

type Fields = { fields: readonly Choice[]; properties: readonly { key: string; name: string }[] }

/** Returns the fields that a column can have: those of every asset, and the custom properties of the tenant. */
export function useFields(): Fields {
  const language = useLanguage()
  const query = useOperationQuery()
  const { data } = useQuery(
    query(['inventory', 'listCustomProperties'], { query: { limit: 100 } }, { live: ['inventory.custom-property'] }),
  )
  const properties = data?.data ?? []
  const own = properties.map(({ key, name }) => ({ value: propertyTarget(key), label: name }))
  return { fields: [...fixedFields(language), ...own], properties }
}
