import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { type ReactNode, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { ParameterFields } from './parameter-fields.tsx'
import { errorsOf, parametersOf, type Typed, typedOf } from './parameter-form.ts'
import { scanMessages } from './scan-messages.ts'

type Asked = Pick<Discovery, 'discoveryFilters' | 'discoveryOptions'>

export type ParameterForm = {
  asked: Asked
  isWrong: boolean
  /** The fields; with what is wrong in them, once it is to be told. */
  fields: (isTold: boolean) => ReactNode
}

/** Where and how a link looks, in the link's own words; to begin with, as it was asked before. */
export function useParameterForm(link: AssetLink, before?: Asked): ParameterForm {
  const text = useText(scanMessages)
  const [filters, setFilters] = useState<Typed>(() => typedOf(before?.discoveryFilters ?? []))
  const [options, setOptions] = useState<Typed>(() => typedOf(before?.discoveryOptions ?? []))
  const errors = { filters: errorsOf(link.filters, filters), options: errorsOf(link.options, options) }
  const fields = (isTold: boolean) => (
    <>
      {link.filters.length + link.options.length === 0 && <p className="quiet">{text.noParameters}</p>}
      {link.filters.length > 0 && (
        <fieldset className="group">
          <legend>{text.filters}</legend>
          <ParameterFields
            parameters={link.filters}
            typed={filters}
            errors={isTold ? errors.filters : {}}
            onChange={setFilters}
          />
        </fieldset>
      )}
      {link.options.length > 0 && (
        <details
          className="group"
          open={(before?.discoveryOptions.length ?? 0) > 0 || (isTold && !isEmpty(errors.options))}
        >
          <summary>{text.options}</summary>
          <ParameterFields
            parameters={link.options}
            typed={options}
            errors={isTold ? errors.options : {}}
            onChange={setOptions}
          />
        </details>
      )}
    </>
  )
  return {
    asked: {
      discoveryFilters: parametersOf(link.filters, filters).map(comparedAs(before?.discoveryFilters)),
      discoveryOptions: parametersOf(link.options, options).map(comparedAs(before?.discoveryOptions)),
    },
    isWrong: !isEmpty(errors.filters) || !isEmpty(errors.options),
    fields,
  }
}

/** A program may have said how to compare: that stays. */
function comparedAs(before: Asked['discoveryFilters'] = []) {
  return (parameter: { key: string; value: string | number | boolean }): Asked['discoveryFilters'][number] => {
    const operator = before.find(({ key }) => key === parameter.key)?.comparisonOperator
    return operator === undefined ? parameter : { ...parameter, comparisonOperator: operator }
  }
}

function isEmpty(errors: object): boolean {
  return Object.keys(errors).length === 0
}
