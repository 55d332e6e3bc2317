import type { Hierarchy } from '@millwright/api/hierarchy.ts'
import { iconMoreMenu } from '@siemens/ix-icons/icons'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useAppContext, usePermission } from '../../app/session/app-context.tsx'
import { download } from '../../components/actions/download.ts'
import { MenuButton, type MenuEntry } from '../../components/actions/menu-button.tsx'
import { showError } from '../../components/feedback/toast.ts'
import { Icon } from '../../components/values/icon.tsx'
import { ExportDialog, useCanExport } from '../files/export/export-dialog.tsx'
import { AssignmentsDialog } from './assignment/assignments.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { ImportDialog } from './exchange/import-dialog.tsx'
import { HierarchyFormDialog } from './hierarchy-form-dialog.tsx'
import { hierarchyMessages } from './messages.ts'

type HierarchyActionsProps = {
  hierarchy: Hierarchy
  /** Adds a node at the top of the hierarchy. */
  onAdd: () => void
  onCreate: () => void
  onDeleted: () => void
}

/** `HierarchyActions` is the menu of a hierarchy, next to the field that selects the hierarchy. */
export function HierarchyActions({ hierarchy, onAdd, onCreate, onDeleted }: HierarchyActionsProps) {
  const text = useText(hierarchyMessages)
  const { fetchOperation } = useAppContext()
  const navigate = useNavigate()
  const canWrite = usePermission('glb_hierarchy_write')
  const canExport = useCanExport('hierarchy')
  const [open, setOpen] = useState<'edit' | 'delete' | 'import' | 'export' | 'assignments'>()
  const close = () => setOpen(undefined)
  const save = async (format: 'csv' | 'json') => {
    try {
      const answer = await fetchOperation('hierarchy', 'exportNodes', {
        params: { id: hierarchy.id },
        query: { format },
      })
      download(await answer.blob(), `${hierarchy.name}.${format}`)
    } catch (error) {
      showError(error instanceof Error ? error.message : String(error))
    }
  }
  const entries: MenuEntry[] = [
    ...(canWrite ? [item(text.addTopNode, onAdd), { kind: 'line' } as const] : []),
    item(text.rules, () => navigate({ to: `/hierarchy/${hierarchy.id}/rules` })),
    item(text.assignments, () => setOpen('assignments')),
    { kind: 'line' },
    ...(canWrite ? [item(text.importNodes, () => setOpen('import'))] : []),
    item(text.exportCsv, () => save('csv')),
    item(text.exportJson, () => save('json')),
    ...(canExport ? [item(text.exportOther, () => setOpen('export'))] : []),
    ...(canWrite
      ? [
          { kind: 'line' } as const,
          item(text.createHierarchy, onCreate),
          item(text.editHierarchyEntry, () => setOpen('edit')),
          item(text.deleteHierarchyEntry, () => setOpen('delete')),
        ]
      : []),
  ]
  return (
    <>
      <MenuButton label={text.hierarchyActions} entries={entries} className="menu-button icon-menu" isAtEnd>
        <Icon name={iconMoreMenu} />
      </MenuButton>
      {open === 'edit' && <HierarchyFormDialog hierarchy={hierarchy} onClose={close} />}
      {open === 'import' && <ImportDialog hierarchy={hierarchy} onClose={close} />}
      {open === 'export' && <ExportDialog what="hierarchy" selection={{ hierarchyId: hierarchy.id }} onClose={close} />}
      {open === 'assignments' && <AssignmentsDialog hierarchyId={hierarchy.id} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog kind="hierarchy" id={hierarchy.id} name={hierarchy.name} onClose={close} onDeleted={onDeleted} />
      )}
    </>
  )
}

function item(label: string, onSelect: () => void): MenuEntry {
  return { kind: 'item', label, onSelect }
}
