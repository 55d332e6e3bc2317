import type { Grant } from '@millwright/api/authorization.ts'
import { useQueryClient } from '@tanstack/react-query'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { accessMessages } from '../messages.ts'

/**
 * `RevokeButton` revokes a role. The gateway role has no button, because it is removed when the gateway is revoked. For
 * a role from an identity provider, it shows the provider, because the groups there determine the role.
 */
export function RevokeButton({ grant }: { grant: Grant }) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const revoke = async () => {
    await api.authorization.deleteGrant({ params: { id: grant.id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    showSuccess(text.revoked)
  }
  if (grant.role === 'gateway') return null
  if (grant.provider !== null) return <span className="quiet">{text.fromProvider(grant.provider)}</span>
  return (
    <ConfirmButton action={text.revoke} title={text.revokeTitle} onConfirm={revoke} isLink>
      {text.revokeDetail(grant.role, grant.principalName)}
    </ConfirmButton>
  )
}
