import { useId } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { CheckField, TextAreaField } from '../../../components/forms/fields.tsx'
import { type TypeGroup, type TypeSelection, typeGroupNames, typeGroups } from './event-types.ts'
import { formMessages } from './messages.ts'

type TypePickerProps = {
  types: TypeSelection
  error: string | undefined
  onChange: (types: TypeSelection) => void
}

/** `TypePicker` selects event types: all of them, groups of them, or prefixes that the user types. */
export function TypePicker({ types, error, onChange }: TypePickerProps) {
  const text = useText(formMessages)
  const errorId = useId()
  const toggle = (group: TypeGroup, isChecked: boolean) => {
    const others = types.groups.filter((each) => each !== group)
    onChange({ ...types, groups: isChecked ? [...others, group] : others })
  }
  return (
    <fieldset className="type-picker" aria-describedby={error && errorId}>
      <legend className="field-label">{text.types}</legend>
      <CheckField
        label={text.allTypes}
        hint={text.allTypesHint}
        isChecked={types.isAll}
        onChange={(isAll) => onChange({ ...types, isAll })}
      />
      {!types.isAll && (
        <>
          <div className="type-groups">
            {typeGroupNames.map((group) => (
              <CheckField
                key={group}
                label={text[group]}
                hint={typeGroups[group].map((prefix) => `${prefix}*`).join(', ')}
                isChecked={types.groups.includes(group)}
                onChange={(isChecked) => toggle(group, isChecked)}
              />
            ))}
          </div>
          <TextAreaField
            label={text.prefixes}
            hint={text.prefixesHint}
            rows={2}
            isCode
            value={types.prefixes}
            onChange={(prefixes) => onChange({ ...types, prefixes })}
          />
        </>
      )}
      {error !== undefined && (
        <p className="field-error" id={errorId}>
          {error}
        </p>
      )}
    </fieldset>
  )
}
