import { iconClose } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'

type SidePanelProps = {
  title: string
  onClose: () => void
  children: ReactNode
  /** Buttons at the bottom of the panel. */
  actions?: ReactNode
}

/**
 * `SidePanel` shows the details of one element of a list, next to the list. Its parent has the class `with-side-panel`. On a
 * small screen, the panel covers the page. The panel receives the focus when it opens. Escape closes it, and the focus
 * returns to the element that opened it.
 */
export function SidePanel({ title, onClose, children, actions }: SidePanelProps) {
  const text = useText(componentMessages)
  const heading = useRef<HTMLHeadingElement>(null)
  const titleId = useId()
  useEffect(() => {
    const opener = document.activeElement
    heading.current?.focus({ preventScroll: true })
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    }
  }, [])
  return (
    <aside
      className="side-panel"
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <div className="side-panel-head">
        <h2 id={titleId} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <IxIconButton icon={iconClose} variant="subtle-tertiary" aria-label={text.close} onClick={onClose} />
      </div>
      <div className="side-panel-body">{children}</div>
      {actions !== undefined && <div className="side-panel-actions">{actions}</div>}
    </aside>
  )
}
