import { iconArrowDown, iconArrowUp, iconEyeCancelled, iconPin, iconPinFilled, iconPlus } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useLanguage, useText } from '../../app/language-context.tsx'
import { Dialog } from '../../components/dialog.tsx'
import type { AssetProperty } from './asset-property.ts'
import { assetsMessages } from './messages.ts'
import { moved, pinnedFirst, type TableColumn, usualColumns } from './table-columns.ts'

type Given = {
  columns: readonly TableColumn[]
  properties: readonly AssetProperty[]
  onChange: (columns: TableColumn[]) => void
  onClose: () => void
}

/** Which columns are shown, in which order, and which stay at the left. */
export function ColumnsDialog({ columns, properties, onChange, onClose }: Given) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const hidden = properties.filter(({ path }) => !columns.some((column) => column.path === path))
  return (
    <Dialog
      title={text.columns}
      onClose={onClose}
      actions={
        <>
          <IxButton variant="secondary" onClick={() => onChange(usualColumns())}>
            {text.reset}
          </IxButton>
          <IxButton onClick={onClose}>{text.done}</IxButton>
        </>
      }
    >
      <h3 className="columns-heading">{text.shownColumns}</h3>
      <ul className="columns-list">
        {columns.map((column, index) => (
          <ColumnRow
            key={column.path}
            column={column}
            name={properties.find(({ path }) => path === column.path)?.title[language] ?? column.path}
            onMove={(step) => onChange(pinnedFirst(moved(columns, index, index + step)))}
            onPin={() => onChange(pinnedFirst(columns.with(index, { ...column, isPinned: !column.isPinned })))}
            {...(columns.length > 1 && { onHide: () => onChange(columns.toSpliced(index, 1)) })}
          />
        ))}
      </ul>
      {hidden.length > 0 && <h3 className="columns-heading">{text.moreColumns}</h3>}
      <ul className="columns-list">
        {hidden.map(({ path, title, width }) => (
          <li key={path}>
            <span>{title[language]}</span>
            <IxIconButton
              icon={iconPlus}
              variant="subtle-tertiary"
              aria-label={text.show(title[language])}
              onClick={() => onChange([...columns, { path, width, isPinned: false }])}
            />
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

type RowGiven = {
  column: TableColumn
  name: string
  onMove: (step: 1 | -1) => void
  onPin: () => void
  onHide?: () => void
}

function ColumnRow({ column, name, onMove, onPin, onHide }: RowGiven) {
  const text = useText(assetsMessages)
  const buttons = [
    [iconArrowUp, text.up(name), () => onMove(-1)],
    [iconArrowDown, text.down(name), () => onMove(1)],
    [column.isPinned ? iconPinFilled : iconPin, text.pin(name), onPin],
    ...(onHide ? [[iconEyeCancelled, text.hide(name), onHide] as const] : []),
  ] as const
  return (
    <li>
      <span>{name}</span>
      {buttons.map(([icon, label, act]) => (
        <IxIconButton key={label} icon={icon} variant="subtle-tertiary" aria-label={label} onClick={act} />
      ))}
    </li>
  )
}
