import { iconExport } from '@siemens/ix-icons/icons'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { MenuButton, type MenuEntry } from '../../components/actions/menu-button.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { ExportDialog, useCanExport } from '../files/export/export-dialog.tsx'
import type { useFileDownload } from '../files/file-download.ts'
import { activityMessages } from './messages.ts'

type ExportMenuProps = {
  query: { from: string; to?: string } & Readonly<Record<string, string | boolean>>
  /** Downloads a file. The page shows its failure. */
  save: ReturnType<typeof useFileDownload>['save']
}

/** `ExportMenu` downloads the shown entries as a file, or the audit trail with its hashes. It is hidden without permission. */
export function ExportMenu({ query, save }: ExportMenuProps) {
  const text = useText(activityMessages)
  const canExport = usePermission('glb_file_export')
  const canExportAudit = useCanExport('audit')
  const [isAuditOpen, setAuditOpen] = useState(false)
  if (!canExport) return null
  const item = (label: string, onSelect: () => void): MenuEntry => ({
    kind: 'item',
    label,
    icon: <Icon name={iconExport} size={16} />,
    onSelect,
  })
  const saveAs = (format: 'csv' | 'ndjson') => save('activity', 'exportEntries', { query: { ...query, format } })
  const { from, to } = query
  return (
    <>
      <MenuButton
        label={text.export}
        isAtEnd
        entries={[
          item(text.exportCsv, () => saveAs('csv')),
          item(text.exportJson, () => saveAs('ndjson')),
          ...(canExportAudit ? [item(text.exportAudit, () => setAuditOpen(true))] : []),
        ]}
      />
      {isAuditOpen && (
        <ExportDialog
          what="audit"
          selection={{ entries: { from, ...(to === undefined ? {} : { to }) } }}
          onClose={() => setAuditOpen(false)}
        />
      )}
    </>
  )
}
