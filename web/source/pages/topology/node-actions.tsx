import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { AssetPicker, type PickedAsset } from '../../components/forms/asset-picker.tsx'
import { Form } from '../../components/forms/form.tsx'
import { keyOf, labelOf } from '../../components/graph/graph-data.ts'
import { NodeLink } from '../hierarchy/node-link.tsx'
import { topologyMessages } from './messages.ts'
import type { TopologySearch } from './topology-search.ts'

type NodeActionsProps = {
  node: GraphNode
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
  onExpand: () => Promise<void>
}

/**
 * `NodeActions` contains the actions for the selected node: show its impact, show the path to another node, and expand
 * it. A hierarchy node has a link to its assets.
 */
export function NodeActions({ node, change, onExpand }: NodeActionsProps) {
  const text = useText(topologyMessages)
  const [isPicking, setPicking] = useState(false)
  if (node.type !== 'asset') return <NodeLink id={node.id} label="" />
  return (
    <>
      <IxButton variant="secondary" onClick={() => change({ show: 'impact', to: undefined })}>
        {text.impact}
      </IxButton>
      <IxButton variant="secondary" onClick={() => setPicking(true)}>
        {text.path}
      </IxButton>
      <IxButton variant="secondary" onClick={onExpand}>
        {text.expand}
      </IxButton>
      {isPicking && (
        <PathDialog
          node={node}
          onClose={() => setPicking(false)}
          onPick={(to) => {
            setPicking(false)
            change({ thing: keyOf(node), show: 'path', to })
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
