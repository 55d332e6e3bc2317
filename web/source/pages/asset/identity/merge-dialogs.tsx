import { useState } from 'react'
import { useInventoryWrite, waitHeaders } from '../../../app/api/inventory-write.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { AssetPicker, type PickedAsset } from '../../../components/forms/asset-picker.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { assetMessages } from '../messages.ts'

export type DuplicateAsset = PickedAsset

/** `MergeDialog` merges another asset into this asset. If `duplicate` is undefined, the user picks the other asset. */
export function MergeDialog({
  id,
  duplicate,
  onClose,
}: {
  id: string
  duplicate: DuplicateAsset | undefined
  onClose: () => void
}) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const [picked, setPicked] = useState(duplicate)
  const [prefer, setPrefer] = useState<'this' | 'other'>('this')
  const [isMissing, setMissing] = useState(false)
  const merge = async () => {
    setMissing(picked === undefined)
    if (picked === undefined) return false
    const body = { data: { other: picked.id, prefer } }
    return write(api.inventory.mergeAsset({ params: { id }, headers: waitHeaders, body }), text.merged)
  }
  return (
    <ConfirmDialog title={text.mergeTitle} action={text.mergeVerb} onClose={onClose} onConfirm={merge}>
      <div className="form">
        {duplicate === undefined && (
          <AssetPicker
            label={text.otherAsset}
            picked={picked}
            onPick={setPicked}
            except={id}
            error={isMissing ? text.chooseAsset : undefined}
          />
        )}
        {picked !== undefined && <p>{text.mergeText(picked.name)}</p>}
        <SelectField
          label={text.prefer}
          value={prefer}
          onChange={setPrefer}
          choices={[
            { value: 'this', label: text.preferThis },
            { value: 'other', label: text.preferOther },
          ]}
        />
      </div>
    </ConfirmDialog>
  )
}

type UndoDialogProps = { id: string; mergeId: string; name: string; onClose: () => void }

export function UndoDialog({ id, mergeId, name, onClose }: UndoDialogProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  return (
    <ConfirmDialog
      title={text.undoTitle}
      action={text.undo}
      onClose={onClose}
      onConfirm={() => write(api.inventory.undoMerge({ params: { id, mergeId }, headers: waitHeaders }), text.undone)}
    >
      <p>{text.undoText(name)}</p>
    </ConfirmDialog>
  )
}
