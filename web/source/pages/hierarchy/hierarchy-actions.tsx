import type { Hierarchy, HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useAppContext, usePermission } from '../../app/session/app-context.tsx'
import { download } from '../../components/actions/download.ts'
import { MenuButton, type MenuEntry } from '../../components/actions/menu-button.tsx'
import { showError } from '../../components/feedback/toast.ts'
import { ExportDialog, useCanExport } from '../files/export/export-dialog.tsx'
import { AssignmentsDialog } from './assignment/assignments.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { ImportDialog } from './exchange/import-dialog.tsx'
import { HierarchyFormDialog } from './hierarchy-form-dialog.tsx'
import { hierarchyMessages } from './messages.ts'

type HierarchyActionsProps = {
  hierarchy: Hierarchy
  /** The selected node. */
  node: HierarchyNode | undefined
  /** Adds a node below another node, or at the top of the hierarchy. */
  onAdd: (parent: HierarchyNode | null) => void
  onCreate: () => void
  onDeleted: () => void
}

/** `HierarchyActions` adds nodes and hierarchies, and contains the actions for a whole hierarchy. */
export function HierarchyActions({ hierarchy, node, onAdd, onCreate, onDeleted }: HierarchyActionsProps) {
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
          item(text.editHierarchyEntry, () => setOpen('edit')),
          item(text.deleteHierarchyEntry, () => setOpen('delete')),
        ]
      : []),
  ]
  return (
    <>
      {canWrite && (
        <MenuButton
          label={text.add}
          entries={[
            ...(node === undefined ? [] : [item(text.addBelow(node.name), () => onAdd(node))]),
            item(text.addTopNode, () => onAdd(null)),
            { kind: 'line' },
            item(text.createHierarchy, onCreate),
          ]}
          isAtEnd
        />
      )}
      <MenuButton label={text.hierarchyActions} entries={entries} isAtEnd />
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
