import { iconUpload } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { type DragEvent, useRef, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'
import { Icon } from '../values/icon.tsx'

type DropZoneProps = {
  label: string
  hint?: string
  /** The extensions and media types that the file dialog offers. */
  accept?: string
  onFile: (file: File) => void
}

/** `DropZone` is an area on which the user drops a file, with a button that chooses one. */
export function DropZone({ label, hint, accept, onFile }: DropZoneProps) {
  const text = useText(componentMessages)
  const input = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  const take = (files: FileList | null) => {
    const [file] = files ?? []
    if (file !== undefined) onFile(file)
  }
  const over = (event: DragEvent) => {
    event.preventDefault()
    setOver(true)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside offers the same without a mouse
    <div
      className="drop-zone"
      data-over={isOver}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer.files)
      }}
    >
      <Icon name={iconUpload} size={32} />
      <p>{label}</p>
      <IxButton onClick={() => input.current?.click()}>{text.chooseFile}</IxButton>
      <input ref={input} type="file" hidden accept={accept} onChange={({ target }) => take(target.files)} />
      {hint !== undefined && <p className="field-hint">{hint}</p>}
    </div>
  )
}
