import type { FieldChange } from '@millwright/api/inventory/changes.ts'
import type { Api } from '../../../app/api/client.ts'
import type { Language } from '../../../app/language/language.ts'
import { authorName } from '../../activity/author-name.ts'
import { fieldName } from '../../activity/field-names.ts'
import { type Asset, valueAt } from '../model/asset.ts'
import { stateName } from '../model/value-names.ts'

/** The last change of each asset in the table. It is not part of the document, and is read separately. */

/** The field of an asset that contains its last change. */
export const lastChangeField = 'last_change'

type LastChange = { change: 'created' | 'updated' | 'deleted'; changes: readonly FieldChange[]; by: string }

/** Adds the last change to assets. An asset without a readable change stays as it is. */
export async function withLastChanges(api: Api, assets: readonly Asset[]): Promise<Asset[]> {
  if (assets.length === 0) return []
  const { data } = await api.inventory.readLastChanges({ body: { data: { ids: assets.map(({ id }) => id) } } })
  const byId = new Map(
    data.map(({ assetId, change, changes, principalName }): [string, LastChange] => [
      assetId,
      { change, changes, by: authorName(principalName) },
    ]),
  )
  return assets.map((asset) => {
    const last = byId.get(asset.id)
    return last === undefined ? asset : { ...asset, [lastChangeField]: last }
  })
}

const shownFields = 2

const texts = {
  en: { created: 'New asset', updated: 'Updated' },
  de: { created: 'Neues Asset', updated: 'Aktualisiert' },
} as const

/** Returns the last change of an asset in a few words, such as `firmware 3.0.1 → 3.1.0`. */
export function lastChangeText(asset: Asset, language: Language): string {
  const last = valueAt(asset, lastChangeField) as LastChange | undefined
  if (last === undefined) return ''
  if (last.change === 'created') return texts[language].created
  const shown = last.changes.slice(0, shownFields).map((change) => changeText(change, language))
  const rest = last.changes.length - shownFields
  return [...shown, rest > 0 && `+${rest}`].filter(Boolean).join(', ') || texts[language].updated
}

function changeText({ field, before, after }: FieldChange, language: Language): string {
  const name = fieldName(field, language, { isPlain: true })
  const value = (text: string) => (field.endsWith('_state') ? stateName(field, text, language) : text)
  if (before === undefined && after === undefined) return name
  const arrow = `→ ${after === undefined ? '–' : value(after)}`
  return before === undefined ? `${name} ${arrow}` : `${name} ${value(before)} ${arrow}`
}
