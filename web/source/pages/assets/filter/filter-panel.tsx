import { iconPlus, iconTrashcan } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { TimestampField } from '../../../components/forms/timestamp-field.tsx'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { stateName, valueName } from '../model/value-names.ts'
import { type Condition, type ConditionList, conditionsOf, filterOf, type Operator } from './filter-conditions.ts'

type FilterPanelProps = { filter: string; properties: readonly AssetProperty[]; onApply: (filter: string) => void }

/**
 * `FilterPanel` edits a filter as a list of conditions and as an expression. A change in the list updates the
 * expression, and a change in the expression updates the list.
 */
export function FilterPanel({ filter, properties, onApply }: FilterPanelProps) {
  const text = useText(assetsMessages)
  const [draft, setDraft] = useState(filter)
  return (
    <form
      className="filter-panel"
      aria-label={text.filter}
      onSubmit={(event) => {
        event.preventDefault()
        onApply(draft.trim())
      }}
    >
      <FilterFields filter={draft} properties={properties} onChange={setDraft} />
      <div className="form-actions">
        <IxButton type="submit">{text.apply}</IxButton>
        <IxButton variant="secondary" type="button" onClick={() => onApply('')}>
          {text.clearFilter}
        </IxButton>
      </div>
    </form>
  )
}

type FilterFieldsProps = {
  filter: string
  properties: readonly AssetProperty[]
  onChange: (filter: string) => void
  /** Whether a button opens the expression. Without it, the expression is always shown. */
  isTextFolded?: boolean
}

/** `FilterFields` contains the fields of a filter without a form, for forms that contain a filter. */
export function FilterFields({ filter, properties, onChange, isTextFolded = false }: FilterFieldsProps) {
  const text = useText(assetsMessages)
  const [isTextOpen, setTextOpen] = useState(!isTextFolded)
  const list = conditionsOf(filter)
  const filterable = properties.filter(({ isFilterable = true }) => isFilterable)
  return (
    <>
      {list === undefined ? (
        <p className="quiet">{text.tooComplex}</p>
      ) : (
        <Conditions list={list} properties={filterable} onChange={(next) => onChange(filterOf(next))} />
      )}
      {isTextOpen || list === undefined ? (
        <TextAreaField
          label={text.asText}
          value={filter}
          onChange={(expression) => {
            // The field stays open after an expression that the list can show again.
            setTextOpen(true)
            onChange(expression)
          }}
          rows={2}
          isCode
        />
      ) : (
        <button type="button" className="link-button filter-as-text" onClick={() => setTextOpen(true)}>
          {text.editAsText}
        </button>
      )}
    </>
  )
}

type ConditionsProps = {
  list: ConditionList
  properties: readonly AssetProperty[]
  onChange: (list: ConditionList) => void
}

function Conditions({ list, properties, onChange }: ConditionsProps) {
  const text = useText(assetsMessages)
  const { conditions, join } = list
  const replace = (index: number, condition: Condition) =>
    onChange({ join, conditions: conditions.with(index, condition) })
  return (
    <>
      {conditions.map((condition, index) => (
        <ConditionRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition is identified by its index
          key={index}
          condition={condition}
          properties={properties}
          onChange={(next) => replace(index, next)}
          onRemove={() => onChange({ join, conditions: conditions.toSpliced(index, 1) })}
        />
      ))}
      <div className="filter-row-end">
        <IxButton
          variant="subtle-primary"
          type="button"
          icon={iconPlus}
          onClick={() =>
            onChange({ join, conditions: [...conditions, { path: 'name', operator: 'contains', value: '' }] })
          }
        >
          {text.addCondition}
        </IxButton>
        {conditions.length > 1 && (
          <SelectField
            label={text.conditions}
            isLabelUnseen
            value={join}
            onChange={(next) => onChange({ join: next, conditions })}
            choices={[
              { value: 'and', label: text.matchAll },
              { value: 'or', label: text.matchAny },
            ]}
          />
        )}
      </div>
    </>
  )
}

type ConditionRowProps = {
  condition: Condition
  properties: readonly AssetProperty[]
  onChange: (condition: Condition) => void
  onRemove: () => void
}

function ConditionRow({ condition, properties, onChange, onRemove }: ConditionRowProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const property = properties.find(({ path }) => path === condition.path)
  const choices = properties.map(({ path, title }) => ({ value: path, label: title[language] }))
  const hasValue = condition.operator !== 'is-empty' && condition.operator !== 'is-set'
  return (
    <div className="filter-row">
      <SelectField
        label={text.property}
        isLabelUnseen
        value={condition.path}
        onChange={(path) => onChange({ path, operator: operatorsFor(properties, path)[0] ?? 'eq', value: '' })}
        choices={property === undefined ? [...choices, { value: condition.path, label: condition.path }] : choices}
      />
      <SelectField
        label={text.comparison}
        isLabelUnseen
        value={condition.operator}
        onChange={(operator) => onChange({ ...condition, operator })}
        choices={operatorsFor(properties, condition.path, condition.operator).map((value) => ({
          value,
          label: operatorName(value, text),
        }))}
      />
      {hasValue && <ValueField condition={condition} property={property} onChange={onChange} />}
      <IxIconButton
        icon={iconTrashcan}
        variant="subtle-tertiary"
        type="button"
        aria-label={text.removeCondition}
        onClick={onRemove}
      />
    </div>
  )
}

type ValueFieldProps = {
  condition: Condition
  property: AssetProperty | undefined
  onChange: (condition: Condition) => void
}

function ValueField({ condition, property, onChange }: ValueFieldProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const set = (value: string) => onChange({ ...condition, value })
  if (property?.values !== undefined) {
    const choices = ['', ...property.values].map((value) => ({
      value,
      label: stateName(condition.path, value, language),
    }))
    return <SelectField label={text.value} isLabelUnseen value={condition.value} onChange={set} choices={choices} />
  }
  if (property?.kind === 'time') {
    return (
      <TimestampField
        label={text.value}
        isLabelUnseen
        value={condition.value === '' ? undefined : condition.value}
        onChange={(timestamp) => set(timestamp ?? '')}
      />
    )
  }
  if (property?.suggestions !== undefined && (condition.operator === 'eq' || condition.operator === 'ne')) {
    const choices = [...new Set(['', ...property.suggestions, condition.value])].map((value) => ({
      value,
      label: valueName(condition.path, value, language),
    }))
    return <SelectField label={text.value} isLabelUnseen value={condition.value} onChange={set} choices={choices} />
  }
  return <TextField label={text.value} isLabelUnseen value={condition.value} onChange={set} />
}

function operatorsFor(properties: readonly AssetProperty[], path: string, current?: Operator): Operator[] {
  const property = properties.find((each) => each.path === path)
  const kind = property?.kind ?? 'text'
  const fitting: Operator[] =
    kind === 'time'
      ? ['gt', 'lt', 'is-set', 'is-empty']
      : kind === 'state'
        ? ['eq', 'ne', 'is-set', 'is-empty']
        : property?.suggestions !== undefined
          ? ['eq', 'ne', 'contains', 'startswith', 'endswith', 'is-set', 'is-empty']
          : ['contains', 'eq', 'ne', 'startswith', 'endswith', 'is-set', 'is-empty']
  return current === undefined || fitting.includes(current) ? fitting : [...fitting, current]
}

export function operatorName(operator: Operator, text: (typeof assetsMessages)['en']): string {
  if (operator === 'is-empty') return text.isEmpty
  if (operator === 'is-set') return text.isSet
  return text[operator]
}
