import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { AssetPicker, type PickedAsset } from '../../components/forms/asset-picker.tsx'
import { Form } from '../../components/forms/form.tsx'
import { labelOf } from '../../components/graph/graph-data.ts'
import { impactMessages } from './impact/messages.ts'
import { topologyMessages } from './messages.ts'
import type { ChangeTopologySearch } from './topology-search.ts'

/** `NodeActions` contains the actions for the selected asset: show its impact, and show the path to another asset. */
export function NodeActions({ node, change }: { node: GraphNode; change: ChangeTopologySearch }) {
  const text = useText(topologyMessages)
  const impactText = useText(impactMessages)
  const [isPicking, setPicking] = useState(false)
  return (
    <>
      <IxButton variant="secondary" onClick={() => change({ show: 'depends', to: undefined })}>
        {impactText.impact}
      </IxButton>
      <IxButton variant="secondary" onClick={() => setPicking(true)}>
        {text.path}
      </IxButton>
      {isPicking && (
        <PathDialog
          node={node}
          onClose={() => setPicking(false)}
          onPick={(to) => {
            setPicking(false)
            change({ show: 'path', to })
          }}
        />
      )}
    </>
  )
}

type PathDialogProps = { node: GraphNode; onPick: (id: string) => void; onClose: () => void }

function PathDialog({ node, onPick, onClose }: PathDialogProps) {
  const text = useText(topologyMessages)
  const [picked, setPicked] = useState<PickedAsset>()
  const [isMissing, setMissing] = useState(false)
  const submit = () => {
    setMissing(picked === undefined)
    if (picked === undefined) return false
    onPick(picked.id)
    return Promise.resolve()
  }
  return (
    <Dialog title={text.pathFrom(labelOf(node))} onClose={onClose}>
      <Form action={text.showPath} onSubmit={submit}>
        <AssetPicker
          label={text.pathTo}
          picked={picked}
          onPick={setPicked}
          except={node.id}
          error={isMissing ? text.pick : undefined}
        />
      </Form>
    </Dialog>
  )
}
