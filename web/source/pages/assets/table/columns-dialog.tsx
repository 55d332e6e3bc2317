import { iconArrowDown, iconArrowUp, iconEyeCancelled, iconPin, iconPinFilled, iconPlus } from '@siemens/ix-icons/icons'
import { IxButton, IxIconButton } from '@siemens/ix-react'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { defaultColumns, movedColumn, pinToggled, type TableColumn } from './table-columns.ts'

type ColumnsDialogProps = {
  columns: readonly TableColumn[]
  properties: readonly AssetProperty[]
  onChange: (columns: TableColumn[]) => void
  onClose: () => void
}

/** `ColumnsDialog` selects, orders and pins columns. */
export function ColumnsDialog({ columns, properties, onChange, onClose }: ColumnsDialogProps) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const hidden = properties.filter(({ path }) => !columns.some((column) => column.path === path))
  return (
    <Dialog
      title={text.columns}
      onClose={onClose}
      actions={
        <>
          <IxButton variant="secondary" onClick={() => onChange(defaultColumns())}>
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
            onMove={(step) => onChange(movedColumn(columns, column.path, index + step))}
            isFirst={index === 0 || columns[index - 1]?.isPinned !== column.isPinned}
            isLast={index === columns.length - 1 || columns[index + 1]?.isPinned !== column.isPinned}
            onPin={() => onChange(pinToggled(columns, column.path))}
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

type ColumnRowProps = {
  column: TableColumn
  name: string
  onMove: (step: 1 | -1) => void
  /** Whether the column is the first one within the pinned columns, or within the columns that are not pinned. */
  isFirst: boolean
  isLast: boolean
  onPin: () => void
  onHide?: () => void
}

function ColumnRow({ column, name, onMove, isFirst, isLast, onPin, onHide }: ColumnRowProps) {
  const text = useText(assetsMessages)
  const buttons = [
    [iconArrowUp, text.up(name), () => onMove(-1), isFirst],
    [iconArrowDown, text.down(name), () => onMove(1), isLast],
    [column.isPinned ? iconPinFilled : iconPin, column.isPinned ? text.unpin(name) : text.pin(name), onPin, false],
    ...(onHide ? [[iconEyeCancelled, text.hide(name), onHide, false] as const] : []),
  ] as const
  return (
    <li>
      <span>{name}</span>
      {buttons.map(([icon, label, act, isDisabled]) => (
        <IxIconButton
          key={label}
          icon={icon}
          variant="subtle-tertiary"
          aria-label={label}
          title={label}
          disabled={isDisabled}
          onClick={act}
        />
      ))}
    </li>
  )
}
