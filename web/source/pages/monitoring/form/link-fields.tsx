import { useId } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { CheckField, SelectField } from '../../../components/forms/fields.tsx'
import { useLinkNamesOfAll } from '../../discovery/gateways/gateway-links.ts'
import { formMessages } from './messages.ts'
import type { MonitoringForm } from './monitoring-form.ts'

type LinkFieldsProps = {
  form: MonitoringForm
  /** Whether no link is selected. */
  isInvalid: boolean
  onChange: (changed: Partial<MonitoringForm>) => void
}

/** `LinkFields` selects the asset links through which the devices are checked. */
export function LinkFields({ form, isInvalid, onChange }: LinkFieldsProps) {
  const text = useText(formMessages)
  const errorId = useId()
  const names = useLinkNamesOfAll()
  const { isAllLinks, links } = form
  const offered = [...new Set([...names.keys(), ...links])]
  const toggle = (link: string, isChecked: boolean) => {
    const others = links.filter((each) => each !== link)
    onChange({ links: isChecked ? [...others, link] : others })
  }
  return (
    <fieldset className="group" aria-describedby={isInvalid ? errorId : undefined}>
      <legend>{text.links}</legend>
      <SelectField
        label={text.links}
        isLabelUnseen
        hint={text.linksHint}
        value={isAllLinks ? 'all' : 'chosen'}
        onChange={(kind) => onChange({ isAllLinks: kind === 'all' })}
        choices={[
          { value: 'all', label: text.allLinks },
          { value: 'chosen', label: text.chosenLinks },
        ]}
      />
      {!isAllLinks &&
        offered.map((link) => (
          <CheckField
            key={link}
            label={names.get(link) ?? link}
            isChecked={links.includes(link)}
            onChange={(isChecked) => toggle(link, isChecked)}
          />
        ))}
      {!isAllLinks && offered.length === 0 && <p className="quiet">{text.noLinks}</p>}
      {isInvalid && (
        <p className="field-error" id={errorId}>
          {text.linksRequired}
        </p>
      )}
    </fieldset>
  )
}
