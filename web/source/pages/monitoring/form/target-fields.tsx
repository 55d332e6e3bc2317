import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { FilterFields } from '../../assets/filter/filter-panel.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { formMessages } from './messages.ts'
import type { MonitoringForm } from './monitoring-form.ts'
import { TargetCount } from './target-count.tsx'
import '../../assets/assets.css'

type TargetFieldsProps = {
  form: MonitoringForm
  /** Whether the filter is missing. */
  isInvalid: boolean
  onChange: (changed: Partial<MonitoringForm>) => void
}

/**
 * `TargetFields` selects the assets of a monitoring by a filter, and shows how many assets match. A list of assets that
 * another program has set can be kept or replaced by a filter.
 */
export function TargetFields({ form, isInvalid, onChange }: TargetFieldsProps) {
  const text = useText(formMessages)
  const formats = useFormats()
  const properties = useAssetProperties()
  const { targetKind, filter, assetIds } = form
  return (
    <fieldset className="group">
      <legend>{text.devices}</legend>
      {assetIds.length > 0 && (
        <SelectField
          label={text.which}
          value={targetKind}
          onChange={(kind) => onChange({ targetKind: kind })}
          choices={[
            { value: 'list', label: text.selectedAssets(assetIds.length, formats.number(assetIds.length)) },
            { value: 'filter', label: text.byFilter },
          ]}
        />
      )}
      {targetKind === 'filter' && (
        <>
          <p className="quiet">{text.devicesHint(formats.number(monitoringLimits.targets))}</p>
          <FilterFields
            filter={filter}
            properties={properties}
            onChange={(changed) => onChange({ filter: changed })}
            isTextFolded
          />
          {isInvalid && <p className="field-error">{text.filterRequired}</p>}
          <TargetCount filter={filter} links={form.isAllLinks ? [] : form.links} />
        </>
      )}
    </fieldset>
  )
}
