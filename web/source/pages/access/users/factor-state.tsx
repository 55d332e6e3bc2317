import type { User } from '@millwright/api/identity.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { accessMessages } from '../messages.ts'

type FactorStateProps = {
  user: User
  /** Whether the user should have a second factor, as an administrator. */
  isRequired?: boolean
}

/** `FactorState` shows whether a user has a second factor. For a user of an identity provider, the provider decides. */
export function FactorState({ user: { provider, hasSecondFactor }, isRequired = false }: FactorStateProps) {
  const text = useText(accessMessages)
  if (provider !== null) return <span className="quiet">{text.atProvider}</span>
  return (
    <StatusChip tone={hasSecondFactor ? 'good' : isRequired ? 'warning' : 'neutral'}>
      {hasSecondFactor ? text.hasFactor : text.noFactor}
    </StatusChip>
  )
}
