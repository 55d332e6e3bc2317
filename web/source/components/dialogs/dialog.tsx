import { iconClose } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { type MouseEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

type DialogProps = {
  title: string
  onClose: () => unknown
  children: ReactNode
  /** Buttons at the bottom. */
  actions?: ReactNode
  isWide?: boolean
  /** Without a visible title, near the top: for the command palette. */
  isPalette?: boolean
}

/** Something that wants an answer before one goes on. Escape and a click beside it close it, and what opened it has the focus again. */
export function Dialog({ title, onClose, children, actions, isWide, isPalette }: DialogProps) {
  const text = useText(componentMessages)
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // Closed while it is still in the page: only then the browser gives the focus back to what opened it.
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  const closeOnBackdrop = (event: MouseEvent) => {
    if (event.target === dialog.current) onClose()
  }
  const kind = isPalette ? ' dialog-palette' : isWide ? ' dialog-wide' : ''
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, by the browser
    <dialog
      ref={dialog}
      className={`dialog${kind}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={closeOnBackdrop}
    >
      <div className="dialog-frame">
        <div className={isPalette ? 'unseen' : 'dialog-head'}>
          <h2 id={titleId}>{title}</h2>
          {!isPalette && (
            <IxIconButton icon={iconClose} variant="subtle-tertiary" aria-label={text.close} onClick={onClose} />
          )}
        </div>
        <div className="dialog-body">{children}</div>
        {actions !== undefined && <div className="dialog-actions">{actions}</div>}
      </div>
    </dialog>
  )
}
