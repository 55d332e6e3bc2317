import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { type ReactNode, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { ParameterFields } from './parameter-fields.tsx'
import { errorsOf, type FormValues, formValuesOf, parametersOf } from './parameter-form.ts'
import { scanMessages } from './scan-messages.ts'

type ScanSettings = Pick<Discovery, 'discoveryFilters' | 'discoveryOptions'>

export type ParameterForm = {
  settings: ScanSettings
  isWrong: boolean
  /** Returns the form fields. With `isSubmitted`, the fields show their error messages. */
  fields: (isSubmitted: boolean) => ReactNode
}

/** Returns the form state for the filters and options of an asset link. The initial values are those of `before`. */
export function useParameterForm(link: AssetLink, before?: ScanSettings): ParameterForm {
  const text = useText(scanMessages)
  const [filters, setFilters] = useState<FormValues>(() => formValuesOf(before?.discoveryFilters ?? []))
  const [options, setOptions] = useState<FormValues>(() => formValuesOf(before?.discoveryOptions ?? []))
  const errors = { filters: errorsOf(link, link.filters, filters), options: errorsOf(link, link.options, options) }
  const fields = (isSubmitted: boolean) => (
    <>
      {link.filters.length + link.options.length === 0 && <p className="quiet">{text.noParameters}</p>}
      {link.filters.length > 0 && (
        <fieldset className="group">
          <legend>{text.filters}</legend>
          <ParameterFields
            assetLinkId={link.assetLinkId}
            parameters={link.filters}
            typed={filters}
            errors={isSubmitted ? errors.filters : {}}
            onChange={setFilters}
          />
        </fieldset>
      )}
      {link.options.length > 0 && (
        <details
          className="group"
          open={(before?.discoveryOptions.length ?? 0) > 0 || (isSubmitted && !isEmpty(errors.options))}
        >
          <summary>{text.options}</summary>
          <ParameterFields
            assetLinkId={link.assetLinkId}
            parameters={link.options}
            typed={options}
            errors={isSubmitted ? errors.options : {}}
            onChange={setOptions}
          />
        </details>
      )}
    </>
  )
  return {
    settings: {
      discoveryFilters: parametersOf(link.filters, filters).map(withOperator(before?.discoveryFilters)),
      discoveryOptions: parametersOf(link.options, options).map(withOperator(before?.discoveryOptions)),
    },
    isWrong: !isEmpty(errors.filters) || !isEmpty(errors.options),
    fields,
  }
}

/**
 * Returns a function that adds the comparison operator of the previous settings to a filter. The form does not show
 * operators, but API clients can set them.
 */
function withOperator(before: ScanSettings['discoveryFilters'] = []) {
  return (parameter: { key: string; value: string | number | boolean }): ScanSettings['discoveryFilters'][number] => {
    const operator = before.find(({ key }) => key === parameter.key)?.comparisonOperator
    return operator === undefined ? parameter : { ...parameter, comparisonOperator: operator }
  }
}

function isEmpty(errors: object): boolean {
  return Object.keys(errors).length === 0
}
