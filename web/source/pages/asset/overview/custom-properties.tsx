import type { CustomProperty } from '@millwright/api/inventory/inventory.ts'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useInventoryWrite, waitHeaders } from '../../../app/api/inventory-write.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { EditableValue } from '../../../components/forms/editable-value.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { customValue } from '../../assets/model/asset.ts'
import type { AssetTabProps } from '../asset-tab.ts'
import { assetMessages } from '../messages.ts'

/** `CustomProperties` shows and edits the custom properties of an asset. */
export function CustomProperties({ asset, canWrite }: Pick<AssetTabProps, 'asset' | 'canWrite'>) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const properties = useQuery(
    query(['inventory', 'listCustomProperties'], { query: { limit: 100 } }, { live: ['inventory.custom-property'] }),
  )
  return (
    <QueryState query={properties}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{text.noneCustom}</p>
        ) : (
          <KeyValueList
            items={data.map((property) => ({
              name: property.name,
              value: (
                <PropertyValue
                  assetId={asset.id}
                  property={property}
                  value={customValue(asset, property.key)}
                  canWrite={canWrite}
                />
              ),
            }))}
          />
        )
      }
    </QueryState>
  )
}

type PropertyValueProps = { assetId: string; property: CustomProperty; value: string; canWrite: boolean }

function PropertyValue({ assetId, property, value, canWrite }: PropertyValueProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const shown = useShown(property, value)
  const { key, name, data_type: type } = property
  if (!canWrite) return value === '' ? <span className="quiet">{text.unset}</span> : shown
  const save = (typed: string) =>
    write(
      api.inventory.setPropertyValues({
        headers: waitHeaders,
        body: { data: [{ asset_id: assetId, key, value: valueFrom(typed, type) }] },
      }),
      text.saved,
    )
  const clear = () =>
    write(
      api.inventory.deletePropertyValues({ headers: waitHeaders, body: { data: [{ asset_id: assetId, key }] } }),
      text.saved,
    )
  const yesOrNo = [
    { value: '', label: text.unset },
    { value: 'true', label: text.yes },
    { value: 'false', label: text.no },
  ]
  return (
    <EditableValue
      name={name}
      value={value}
      shown={shown}
      onSave={save}
      onClear={clear}
      type={type === 'boolean' ? 'text' : type}
      isRequired
      {...(type === 'boolean' && { choices: yesOrNo })}
    />
  )
}

function valueFrom(typed: string, type: CustomProperty['data_type']): string | number | boolean {
  if (type === 'number') return Number(typed)
  return type === 'boolean' ? typed === 'true' : typed
}

function useShown({ data_type: type }: CustomProperty, value: string): ReactNode {
  const text = useText(assetMessages)
  const formats = useFormats()
  if (value === '') return value
  if (type === 'boolean') return value === 'true' ? text.yes : text.no
  if (type === 'number') return formats.number(Number(value))
  // Only http and https URLs become links, because URLs with other schemes can run scripts.
  if (type === 'url' && /^https?:\/\//i.test(value)) {
    return (
      <a href={value} target="_blank" rel="noreferrer">
        {value}
      </a>
    )
  }
  return value
}
