import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { announce } from '../../../components/feedback/announcement.ts'
import { assetsMessages } from '../messages.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { movedColumn, pinToggled, type TableColumn } from './table-columns.ts'

type ColumnChangesOptions = {
  columns: readonly TableColumn[]
  properties: readonly AssetProperty[]
  onColumns: (columns: TableColumn[]) => void
}

/**
 * Returns the handlers for resizing, moving and pinning columns. They announce each moved or pinned column to screen
 * readers.
 */
export function useColumnChanges({ columns, properties, onColumns }: ColumnChangesOptions) {
  const text = useText(assetsMessages)
  const language = useLanguage()
  const titleOf = (path: string) => properties.find((each) => each.path === path)?.title[language] ?? path
  return {
    onResize(path: string, width: number) {
      onColumns(columns.map((column) => (column.path === path ? { ...column, width } : column)))
    },
    onMove(path: string, to: number) {
      const next = movedColumn(columns, path, to)
      const place = next.findIndex((column) => column.path === path) + 1
      onColumns(next)
      announce(text.columnAt(titleOf(path), place, next.length))
    },
    onPin(path: string) {
      const isPinned = columns.some((column) => column.path === path && column.isPinned)
      onColumns(pinToggled(columns, path))
      announce(isPinned ? text.unpinned(titleOf(path)) : text.pinned(titleOf(path)))
    },
  }
}
