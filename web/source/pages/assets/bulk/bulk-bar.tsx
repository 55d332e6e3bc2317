import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { useRovingFocus } from '../../../components/actions/roving-focus.ts'
import { useCanAssign } from '../../hierarchy/assignment/can-assign.ts'
import { setSelectedAssets } from '../../updates/wizard/selected-assets.ts'
import { assetsMessages } from '../messages.ts'
import { maxSelected } from '../model/limits.ts'
import type { AssetSelection } from '../table/selection.ts'
import { BulkDeleteDialog } from './bulk-delete-dialog.tsx'
import { BulkEditDialog } from './bulk-edit-dialog.tsx'

const AssignDialog = lazy(async () => ({
  default: (await import('../../hierarchy/assignment/assign-dialog.tsx')).AssignDialog,
}))

/** `BulkBar` contains the actions for the selected assets. */
export function BulkBar({ selection, total }: { selection: AssetSelection; total: number }) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const canWrite = usePermission('inventory_write_asset_data')
  const canAssign = useCanAssign()
  const canUpdate = usePermission('glb_update_manage')
  const navigate = useNavigate()
  const [open, setOpen] = useState<'edit' | 'assign' | 'delete'>()
  const [isSelecting, setSelecting] = useState(false)
  const { ids, clear, selectMatching } = selection
  const selectAll = async () => {
    setSelecting(true)
    await selectMatching().finally(() => setSelecting(false))
  }
  const update = () => {
    setSelectedAssets(ids)
    navigate({ to: '/updates/campaigns/new', search: { assets: 'selected' } as never })
  }
  const roving = useRovingFocus<HTMLDivElement>('ix-button')
  const reach = Math.min(total, maxSelected)
  return (
    <div className="bulk-bar" role="toolbar" aria-label={text.selected(formats.number(ids.size))} {...roving}>
      <strong>{text.selected(formats.number(ids.size))}</strong>
      {ids.size < reach && (
        <IxButton variant="tertiary" loading={isSelecting} onClick={selectAll}>
          {text.selectMatching(formats.number(reach))}
        </IxButton>
      )}
      <IxButton variant="tertiary" onClick={clear}>
        {text.unselect}
      </IxButton>
      {canWrite && <IxButton onClick={() => setOpen('edit')}>{text.edit}</IxButton>}
      {canAssign && (
        <IxButton variant="secondary" onClick={() => setOpen('assign')}>
          {text.assignToNode}
        </IxButton>
      )}
      {canUpdate && (
        <IxButton variant="secondary" onClick={update}>
          {text.update}
        </IxButton>
      )}
      {canWrite && (
        <IxButton variant="danger-secondary" onClick={() => setOpen('delete')}>
          {text.delete}
        </IxButton>
      )}
      {open === 'edit' && <BulkEditDialog ids={[...ids]} onClose={() => setOpen(undefined)} />}
      {open === 'assign' && (
        <Suspense>
          <AssignDialog subject={{ ids: [...ids] }} onClose={() => setOpen(undefined)} />
        </Suspense>
      )}
      {open === 'delete' && <BulkDeleteDialog ids={[...ids]} onClose={() => setOpen(undefined)} onDone={clear} />}
    </div>
  )
}
