import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { MenuButton } from '../../../components/actions/menu-button.tsx'
import { useRovingFocus } from '../../../components/actions/roving-focus.ts'
import { showError } from '../../../components/feedback/toast.ts'
import { useCanAssign } from '../../hierarchy/assignment/can-assign.ts'
import { inboxMessages } from '../../inbox/messages.ts'
import { useDecide } from '../../inbox/triage/decide.ts'
import { setSelectedAssets } from '../../updates/wizard/selected-assets.ts'
import { assetsMessages } from '../messages.ts'
import { maxSelected } from '../model/limits.ts'
import type { AssetSelection } from '../table/selection.ts'
import { BulkDeleteDialog } from './bulk-delete-dialog.tsx'
import { BulkEditDialog } from './bulk-edit-dialog.tsx'

const AssignDialog = lazy(async () => ({
  default: (await import('../../hierarchy/assignment/assign-dialog.tsx')).AssignDialog,
}))

type BulkBarProps = {
  selection: AssetSelection
  total: number
  /** Returns the management state of an asset, or undefined if it is not loaded. */
  stateOf: (id: string) => string | undefined
}

/** `BulkBar` contains the actions for the selected assets. */
export function BulkBar({ selection, total, stateOf }: BulkBarProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const canWrite = usePermission('inventory_write_asset_data')
  const canAssign = useCanAssign()
  const canUpdate = usePermission('glb_update_manage')
  const navigate = useNavigate()
  const [open, setOpen] = useState<'edit' | 'assign' | 'delete'>()
  const [isSelecting, setSelecting] = useState(false)
  const { ids, clear, selectMatching } = selection
  const inboxText = useText(inboxMessages)
  const { decide } = useDecide(clear)
  const selectAll = async () => {
    setSelecting(true)
    await selectMatching().finally(() => setSelecting(false))
  }
  const update = () => {
    setSelectedAssets(ids)
    navigate({ to: '/updates/campaigns/new', search: { assets: 'selected' } as never })
  }
  const triage = (action: 'onboard' | 'ignore') =>
    decide({ action, assetIds: [...ids] }).catch((error: unknown) => showError(failureOf(error).message))
  const roving = useRovingFocus<HTMLDivElement>('ix-button:not([disabled]), .menu-button')
  /** Returns the number of selected assets that an action changes. Assets that are not loaded count. */
  const countFor = (target: 'regarded' | 'ignored') => [...ids].filter((id) => stateOf(id) !== target).length
  const labelFor = (label: string, count: number) =>
    count === ids.size || count === 0 ? label : `${label} ${formats.number(count)}`
  const [onboardCount, ignoreCount] = [countFor('regarded'), countFor('ignored')]
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
      {canWrite && (
        <>
          <IxButton onClick={() => setOpen('edit')}>{text.edit}</IxButton>
          <IxButton
            variant="secondary"
            disabled={onboardCount === 0}
            title={onboardCount === 0 ? text.allOnboarded : undefined}
            onClick={() => triage('onboard')}
          >
            {labelFor(inboxText.onboard, onboardCount)}
          </IxButton>
        </>
      )}
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
        <MenuButton
          label={text.more}
          entries={[
            {
              kind: 'item',
              label: labelFor(inboxText.ignore, ignoreCount),
              isDisabled: ignoreCount === 0,
              onSelect: () => triage('ignore'),
            },
            { kind: 'line' },
            { kind: 'item', label: text.delete, onSelect: () => setOpen('delete') },
          ]}
          isAtEnd
        />
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
