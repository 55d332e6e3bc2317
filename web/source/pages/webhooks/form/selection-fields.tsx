import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { useAccessGroups } from '../../../app/api/access-groups.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { FilterFields } from '../../assets/filter/filter-panel.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { formMessages } from './messages.ts'
import type { SubscriptionForm } from './subscription-form.ts'
import { TypePicker } from './type-picker.tsx'
import '../../assets/assets.css'

type SelectionFieldsProps = {
  form: SubscriptionForm
  typesError: string | undefined
  onChange: (changed: Partial<SubscriptionForm>) => void
}

/** `SelectionFields` selects the events of a subscription: types, access group and filter for assets. */
export function SelectionFields({ form, typesError, onChange }: SelectionFieldsProps) {
  const text = useText(formMessages)
  const groups = useAccessGroups()
  return (
    <fieldset className="group">
      <legend>{text.events}</legend>
      <TypePicker types={form.types} error={typesError} onChange={(types) => onChange({ types })} />
      <SelectField
        label={text.accessGroup}
        hint={text.accessGroupHint}
        value={form.accessGroup}
        onChange={(accessGroup) => onChange({ accessGroup })}
        choices={[
          { value: '', label: text.allGroups },
          ...groups.map(({ id, name }) => ({ value: id, label: name })),
          ...(form.accessGroup !== '' && !groups.some(({ id }) => id === form.accessGroup)
            ? [{ value: form.accessGroup, label: form.accessGroup }]
            : []),
        ]}
      />
      <AssetFilter filter={form.filter} onChange={(filter) => onChange({ filter })} />
    </fieldset>
  )
}

function AssetFilter({ filter, onChange }: { filter: string; onChange: (filter: string) => void }) {
  const text = useText(formMessages)
  const properties = useAssetProperties()
  return (
    <details className="group" open={filter !== ''}>
      <summary>{text.filter}</summary>
      <p className="quiet card-lead">{text.filterHint}</p>
      <div className="subscription-filter">
        <FilterFields filter={filter} properties={properties} onChange={onChange} />
      </div>
      <MatchCount filter={filter} />
    </details>
  )
}

/** `MatchCount` shows how many assets match the filter now, or what is wrong with the filter. */
function MatchCount({ filter }: { filter: string }) {
  const text = useText(formMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canRead = usePermission('inventory_read_asset_data')
  const shown = useDeferredValue(filter.trim())
  const counted = useQuery({
    ...query(
      ['inventory', 'listAssets'],
      { query: { limit: 1, fields: 'id', filter: shown || 'id ne null' } },
      { live: ['inventory.asset'] },
    ),
    enabled: canRead && shown !== '',
    retry: false,
    placeholderData: (before) => before,
  })
  if (!canRead || shown === '') return null
  if (counted.error !== null) return <ProblemMessage failure={counted.error} />
  const count = counted.data?.meta.totalElements
  return (
    <p className="field-hint" role="status">
      {count === undefined ? text.counting : text.matches(count, formats.number(count))}
    </p>
  )
}
