import { iconCheck, iconCopy } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { announce } from '../feedback/announcement.ts'
import { componentMessages } from '../messages.ts'
import { useCopy } from './clipboard.ts'

const confirmationMs = 2_000

/** `CopyButton` copies a text to the clipboard, and announces to screen readers that the text was copied. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const text = useText(componentMessages)
  const [isDone, setDone] = useState(false)
  const copyText = useCopy()
  const copy = async () => {
    if (!(await copyText(value))) return
    announce(text.copied)
    setDone(true)
    setTimeout(() => setDone(false), confirmationMs)
  }
  return (
    <IxIconButton
      icon={isDone ? iconCheck : iconCopy}
      size="16"
      variant="subtle-tertiary"
      aria-label={`${text.copy}: ${label}`}
      onClick={copy}
    />
  )
}
