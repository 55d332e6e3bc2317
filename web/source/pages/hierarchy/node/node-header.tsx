import type { Hierarchy, HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useState } from 'react'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton, type MenuEntry } from '../../../components/actions/menu-button.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { DeleteDialog } from '../delete-dialog.tsx'
import { usePath } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { nodeTypeName } from '../node-type-names.ts'
import { Breadcrumbs } from './breadcrumbs.tsx'
import { NodeFormDialog } from './node-form-dialog.tsx'
import { CopyDialog, MoveDialog } from './node-move-dialogs.tsx'

type NodeHeaderProps = {
  hierarchy: Hierarchy
  node: HierarchyNode
  /** Selects another node. The value `null` selects all assets. */
  onSelect: (id: string | null) => void
  /** Adds a node below the node. */
  onAdd: () => void
}

/** `NodeHeader` shows the path, the name and the type of a node, with its actions. */
export function NodeHeader({ hierarchy, node, onSelect, onAdd }: NodeHeaderProps) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const path = usePath(node.id)
  const canWrite = usePermission('glb_hierarchy_write')
  const [open, setOpen] = useState<'edit' | 'move' | 'copy' | 'delete'>()
  const close = () => setOpen(undefined)
  const entries: MenuEntry[] = [
    item(text.addBelow(node.name), onAdd),
    { kind: 'line' },
    item(text.editEntry, () => setOpen('edit')),
    item(text.moveEntry, () => setOpen('move')),
    item(text.copyEntry, () => setOpen('copy')),
    { kind: 'line' },
    item(text.deleteEntry, () => setOpen('delete')),
  ]
  return (
    <header className="node-header">
      <Breadcrumbs hierarchy={hierarchy} path={path.data ?? [node]} isCurrent />
      <div className="node-header-row">
        <h2>{node.name}</h2>
        {node.type !== undefined && <StatusChip>{nodeTypeName(node.type, language)}</StatusChip>}
        {canWrite && (
          <div className="page-actions">
            <MenuButton label={text.nodeActions} entries={entries} isAtEnd />
          </div>
        )}
      </div>
      {open === 'edit' && (
        <NodeFormDialog hierarchy={hierarchy} parent={path.data?.at(-2)} node={node} onClose={close} />
      )}
      {open === 'move' && <MoveDialog node={node} onClose={close} />}
      {open === 'copy' && <CopyDialog node={node} onClose={close} onCopied={({ id }) => onSelect(id)} />}
      {open === 'delete' && (
        <DeleteDialog
          kind="node"
          id={node.id}
          name={node.name}
          onClose={close}
          onDeleted={() => onSelect(node.parentId)}
        />
      )}
    </header>
  )
}

function item(label: string, onSelect: () => void): MenuEntry {
  return { kind: 'item', label, onSelect }
}
