import { iconKey } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { CredentialType } from './credential-types.ts'
import { flowMessages } from './flow-messages.ts'

type TypeChoicesProps = {
  types: readonly CredentialType[]
  chosen: CredentialType | undefined
  onChoose: (type: CredentialType) => void
}

/** `TypeChoices` lists the credential types as radio buttons, each with the gateways that run its asset link. */
export function TypeChoices({ types, chosen, onChoose }: TypeChoicesProps) {
  const text = useText(flowMessages)
  const name = useId()
  return (
    <fieldset className="choice-cards">
      <legend className="unseen">{text.types}</legend>
      {types.map((type) => (
        <label key={type.product}>
          <input
            type="radio"
            name={name}
            checked={type.product === chosen?.product}
            onChange={() => onChoose(type)}
            value={type.product}
          />
          <span>
            <strong>{type.name}</strong>
            <span className="quiet">
              {type.links.length === 0
                ? text.notRunning
                : text.runningOn([...new Set(type.links.map(({ gatewayName }) => gatewayName))].join(', '))}
              {type.schemaId === undefined && ` · ${text.notImported}`}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

/** `NoTypes` is shown when no asset link provides a credential type and none is stored. */
export function NoTypes() {
  const text = useText(flowMessages)
  return (
    <EmptyState icon={iconKey} title={text.noTypes}>
      <p>{text.noTypesHint}</p>
      <p className="notice-actions">
        <Link to="/discovery">{text.toDiscovery}</Link>
        <Link to="/credentials" search={{ view: 'schemas' }}>
          {text.toTypes}
        </Link>
      </p>
    </EmptyState>
  )
}
