import { iconPlus, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useText } from '../../../app/language/language-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { hierarchyMessages } from '../messages.ts'

/** `PropertyRow` is a property of a node in a form. */
export type PropertyRow = { name: string; value: string }

export function propertyRows(properties: Readonly<Record<string, string>>): PropertyRow[] {
  return Object.entries(properties).map(([name, value]) => ({ name, value }))
}

/** Returns the properties of the form. Rows without a name or a value are left out. */
export function propertiesOf(rows: readonly PropertyRow[]): Record<string, string> {
  const filled = rows.filter(({ name, value }) => name.trim() !== '' && value !== '')
  return Object.fromEntries(filled.map(({ name, value }) => [name.trim(), value]))
}

type PropertyFieldsProps = { rows: readonly PropertyRow[]; onChange: (rows: PropertyRow[]) => void }

/** `PropertyFields` edits the properties of a node. */
export function PropertyFields({ rows, onChange }: PropertyFieldsProps) {
  const text = useText(hierarchyMessages)
  return (
    <fieldset className="group">
      <legend>{text.properties}</legend>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is identified by its index
        <div className="property-row" key={index}>
          <TextField
            label={text.propertyName}
            value={row.name}
            maxLength={64}
            onChange={(name) => onChange(rows.with(index, { ...row, name }))}
          />
          <TextField
            label={text.propertyValue}
            value={row.value}
            maxLength={512}
            onChange={(value) => onChange(rows.with(index, { ...row, value }))}
          />
          <IxIconButton
            icon={iconTrashcan}
            variant="subtle-tertiary"
            aria-label={text.removeProperty(row.name)}
            onClick={() => onChange(rows.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <IxButton variant="secondary" icon={iconPlus} onClick={() => onChange([...rows, { name: '', value: '' }])}>
          {text.addProperty}
        </IxButton>
      </div>
    </fieldset>
  )
}
