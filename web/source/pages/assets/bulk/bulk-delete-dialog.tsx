import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { assetsMessages } from '../messages.ts'
import { BulkProgress, type BulkProgressState } from './bulk-progress.tsx'
import { bulkHeaders, writeInBulk } from './bulk-result.ts'

type BulkDeleteDialogProps = { ids: readonly string[]; onClose: () => void; onDone?: () => void }

export function BulkDeleteDialog({ ids, onClose, onDone }: BulkDeleteDialogProps) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const api = useApi()
  const [progress, setProgress] = useState<BulkProgressState>()
  const confirm = async () => {
    setProgress({ done: 0 })
    const outcome = await writeInBulk({
      ids,
      write: (some) => api.inventory.deleteAssets({ headers: bulkHeaders, body: { data: { ids: some } } }),
      onProgress: (done) => setProgress({ done }),
    })
    setProgress({ done: ids.length, outcome })
    if (outcome.done > 0) showSuccess(text.deleted(outcome.done, formats.number(outcome.done)))
    if (outcome.failures.length > 0) return false
    onDone?.()
    return true
  }
  return (
    <ConfirmDialog
      title={text.deleteTitle(ids.length, formats.number(ids.length))}
      action={text.deleteVerb}
      isDangerous
      isDone={progress?.outcome !== undefined}
      onConfirm={confirm}
      onClose={onClose}
    >
      {progress === undefined ? <p>{text.deleteText}</p> : <BulkProgress progress={progress} all={ids.length} />}
    </ConfirmDialog>
  )
}
