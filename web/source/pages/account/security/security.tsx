import { iconShieldCheck, iconWarning } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { Card } from '../../../components/page/card.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { accountMessages } from '../messages.ts'
import { PasswordForm } from '../password-form.tsx'
import { AuthenticatorCard } from './authenticator-card.tsx'
import { securityMessages } from './messages.ts'
import { PasskeyCard } from './passkey-card.tsx'
import { RecoveryCodeCard } from './recovery-codes.tsx'

export type AccountSecurity = Output<'identity', 'readAccountSecurity'>['data']

/** Returns the query for the second factors of the signed-in user. */
export function useAccountSecurity() {
  const query = useOperationQuery()
  return useQuery(query(['identity', 'readAccountSecurity'], {}, { live: ['identity.user'] }))
}

/** `Security` manages the second factors of the signed-in user. */
export function Security() {
  const text = useText(securityMessages)
  const account = useText(accountMessages)
  const security = useAccountSecurity()
  return (
    <QueryState query={security}>
      {({ data }) =>
        data.hasPassword ? (
          <>
            <ProtectionState security={data} />
            <div className="cards cards-two">
              <AuthenticatorCard addedTimestamp={data.totpTimestamp} />
              <RecoveryCodeCard count={data.recoveryCodes} hasFactor={hasFactor(data)} />
              <PasskeyCard passkeys={data.passkeys} />
              <Card title={account.change}>
                <PasswordForm />
              </Card>
            </div>
          </>
        ) : (
          <EmptyState icon={iconShieldCheck} title={text.external(data.provider ?? '')}>
            <p>{text.externalText}</p>
          </EmptyState>
        )
      }
    </QueryState>
  )
}

function hasFactor({ totpTimestamp, passkeys }: AccountSecurity): boolean {
  return totpTimestamp !== null || passkeys.length > 0
}

function ProtectionState({ security }: { security: AccountSecurity }) {
  const text = useText(securityMessages)
  const isProtected = hasFactor(security)
  const isMissing = !isProtected && security.isSecondFactorRequired
  return (
    <div className="notice" data-tone={isProtected ? 'good' : 'warning'}>
      <Icon name={isProtected ? iconShieldCheck : iconWarning} />
      <div>
        <p className="notice-title">{isProtected ? text.stateOn : isMissing ? text.stateMissing : text.stateOff}</p>
        <p>{isProtected ? text.stateOnText : text.stateOffText}</p>
      </div>
    </div>
  )
}
