import { useAccessGroups } from '../../../app/api/access-groups.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { FilterFields } from '../../assets/filter/filter-panel.tsx'
import { MatchCount } from '../../assets/filter/match-count.tsx'
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
