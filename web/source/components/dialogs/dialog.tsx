import { iconClose } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { type MouseEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

type DialogProps = {
  title: string
  onClose: () => unknown
  children: ReactNode
  /** The buttons at the bottom of the dialog. */
  actions?: ReactNode
  isWide?: boolean
  /** Whether to use the layout of the command palette: near the top, with a hidden title. */
  isPalette?: boolean
}

/**
 * `Dialog` is a modal dialog. Escape and a click on the backdrop close the dialog, and the focus returns to the element
 * that opened it.
 */
export function Dialog({ title, onClose, children, actions, isWide, isPalette }: DialogProps) {
  const text = useText(componentMessages)
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // The dialog is closed before it is unmounted, because otherwise the browser does not restore the focus.
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
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it on Escape
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
