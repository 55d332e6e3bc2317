import type { Grant } from '@millwright/api/authorization.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../../app/language-context.tsx'
import { keyOf } from '../../app/queries.ts'
import { useApi } from '../../app/visit.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { toldDone } from '../../components/toast.ts'
import { accessMessages } from './messages.ts'

export function RevokeButton({ grant }: { grant: Grant }) {
  const text = useText(accessMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const revoke = async () => {
    await api.authorization.deleteGrant({ params: { id: grant.id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('authorization') })
    toldDone(text.revoked)
  }
  return (
    <>
      <button type="button" className="link-button" onClick={() => setAsking(true)}>
        {text.revoke}
      </button>
      {isAsking && (
        <ConfirmDialog
          title={text.revokeTitle}
          action={text.revoke}
          isDangerous
          onConfirm={revoke}
          onClose={() => setAsking(false)}
        >
          <p>{text.revokeDetail(grant.role, grant.principalName)}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
