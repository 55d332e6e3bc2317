import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { lazy, Suspense, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { useRights } from '../../../app/session/app-context.tsx'
import { connectMessages } from './messages.ts'

const ConnectDialog = lazy(async () => ({ default: (await import('./connect-dialog.tsx')).ConnectDialog }))

type ConnectButtonProps = { asset: { id: string; name: string }; isPrimary?: boolean }

/** `ConnectButton` opens a session to an asset. It is hidden from users without the permission for remote access. */
export function ConnectButton({ asset, isPrimary = false }: ConnectButtonProps) {
  const text = useText(connectMessages)
  const [isOpen, setOpen] = useState(false)
  if (!useRights().has('remote_access_connect')) return null
  return (
    <>
      <IxButton variant={isPrimary ? 'primary' : 'secondary'} icon={iconRemoteAccess} onClick={() => setOpen(true)}>
        {text.connect}
      </IxButton>
      {isOpen && (
        <Suspense fallback={null}>
          <ConnectDialog asset={asset} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
