import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccessGroups } from '../../app/api/access-groups.ts'
import { useInventoryWrite, waitHeaders } from '../../app/api/inventory-write.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { MenuButton, type MenuEntry } from '../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { type Asset, nameOf, textAt } from '../assets/model/asset.ts'
import { ExportDialog, useCanExport } from '../files/export/export-dialog.tsx'
import { assetMessages } from './messages.ts'
import type { PrimaryAction } from './status/primary-action.ts'
import { statusMessages } from './status/status-messages.ts'

type State = 'regarded' | 'ignored' | 'unknown'

type AssetActionsProps = {
  asset: Asset
  /** The action that fits the state of the asset best. */
  primary: PrimaryAction | undefined
  /** Runs the scan that found the asset again. It is undefined if this is not possible. */
  scanAgain: (() => Promise<void>) | undefined
}

/** `AssetActions` contains the actions for a whole asset: onboard, ignore, scan again, move, delete. */
export function AssetActions({ asset, primary, scanAgain }: AssetActionsProps) {
  const text = useText(assetMessages)
  const status = useText(statusMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const [openDialog, setAsking] = useState<'move' | 'delete' | 'export'>()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const state = textAt(asset, 'management_state/state_value')
  const canExport = useCanExport('assets')
  const setState = async (next: State) => {
    const done = { regarded: text.onboarded, ignored: text.ignored, unknown: text.restored }[next]
    const body = { data: { state_value: next } }
    setBusy(true)
    setFailure(undefined)
    await write(api.inventory.setManagementState({ params: { id: asset.id }, headers: waitHeaders, body }), done).catch(
      setFailure,
    )
    setBusy(false)
  }
  const scan = async () => {
    setBusy(true)
    setFailure(undefined)
    await scanAgain?.().catch(setFailure)
    setBusy(false)
  }
  const entries: MenuEntry[] = [
    ...(scanAgain === undefined || primary === 'scan' ? [] : [item(status.scanAgain, scan)]),
    ...(state === 'regarded' ? [item(text.ignore, () => setState('ignored'))] : []),
    ...(state === 'unknown' ? [] : [item(text.restore, () => setState('unknown'))]),
    item(text.move, () => setAsking('move')),
    ...(canExport ? [item(text.export, () => setAsking('export'))] : []),
    { kind: 'line' },
    item(text.delete, () => setAsking('delete')),
  ]
  return (
    <>
      {primary === 'scan' && (
        <IxButton loading={isBusy} onClick={scan}>
          {status.scanAgain}
        </IxButton>
      )}
      {state !== 'regarded' && (
        <IxButton
          variant={primary === 'onboard' ? 'primary' : 'secondary'}
          loading={isBusy}
          onClick={() => setState('regarded')}
        >
          {text.onboard}
        </IxButton>
      )}
      {state === 'unknown' && (
        <IxButton variant="secondary" disabled={isBusy} onClick={() => setState('ignored')}>
          {text.ignore}
        </IxButton>
      )}
      <MenuButton label={text.more} entries={entries} isAtEnd />
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {openDialog === 'export' && (
        <ExportDialog what="assets" selection={{ assetId: asset.id }} onClose={() => setAsking(undefined)} />
      )}
      {openDialog === 'move' && <MoveDialog asset={asset} onClose={() => setAsking(undefined)} />}
      {openDialog === 'delete' && <DeleteDialog asset={asset} onClose={() => setAsking(undefined)} />}
    </>
  )
}

function item(label: string, onSelect: () => void): MenuEntry {
  return { kind: 'item', label, onSelect }
}

type AssetDialogProps = { asset: Asset; onClose: () => void }

function MoveDialog({ asset, onClose }: AssetDialogProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const groups = useAccessGroups()
  const current = textAt(asset, 'access_group')
  const [chosen, setChosen] = useState<string>()
  const value = chosen ?? groups.find(({ name }) => name === current)?.id ?? ''
  const body = { data: { access_group: value } }
  return (
    <ConfirmDialog
      title={text.moveTitle}
      action={text.moveVerb}
      onClose={onClose}
      onConfirm={() =>
        write(api.inventory.setAccessGroup({ params: { id: asset.id }, headers: waitHeaders, body }), text.moved)
      }
    >
      <div className="form">
        <p>{text.moveText}</p>
        <SelectField
          label={text.accessGroup}
          value={value}
          onChange={setChosen}
          choices={groups.map(({ id, name }) => ({ value: id, label: name }))}
        />
      </div>
    </ConfirmDialog>
  )
}

function DeleteDialog({ asset, onClose }: AssetDialogProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const navigate = useNavigate()
  const remove = async () => {
    const deleting = api.inventory.deleteAssets({ headers: waitHeaders, body: { data: { ids: [asset.id] } } })
    await deleting.then(() => navigate({ to: '/assets' }))
    await write(deleting, text.deleted)
  }
  return (
    <ConfirmDialog
      title={text.deleteTitle(nameOf(asset))}
      action={text.deleteVerb}
      isDangerous
      onClose={onClose}
      onConfirm={remove}
    >
      <p>{asset.functional_object_type === 'Gateway' ? text.deleteGatewayText : text.deleteText}</p>
    </ConfirmDialog>
  )
}
