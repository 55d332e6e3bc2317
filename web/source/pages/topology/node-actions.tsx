import type { GraphNode } from '@millwright/api/inventory.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { AssetPicker, type PickedAsset } from '../../components/forms/asset-picker.tsx'
import { Form } from '../../components/forms/form.tsx'
import { keyOf, labelOf } from '../../components/graph/graph-data.ts'
import { topologyMessages } from './messages.ts'
import type { TopologySearch } from './topology-page.tsx'

type Given = {
  thing: GraphNode
  change: (changed: Partial<Record<TopologySearch, string | undefined>>) => void
  onExpand: () => Promise<void>
}

/** What can be asked about a thing of the graph. */
export function ThingActions({ thing, change, onExpand }: Given) {
  const text = useText(topologyMessages)
  const [isPicking, setPicking] = useState(false)
  if (thing.type !== 'asset') return null
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
          thing={thing}
          onClose={() => setPicking(false)}
          onPick={(to) => {
            setPicking(false)
            change({ thing: keyOf(thing), show: 'path', to })
          }}
        />
      )}
    </>
  )
}

type DialogGiven = { thing: GraphNode; onPick: (id: string) => void; onClose: () => void }

function PathDialog({ thing, onPick, onClose }: DialogGiven) {
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
    <Dialog title={text.pathFrom(labelOf(thing))} onClose={onClose}>
      <Form action={text.showPath} onSubmit={submit}>
        <AssetPicker
          label={text.pathTo}
          picked={picked}
          onPick={setPicked}
          except={thing.id}
          error={isMissing ? text.pick : undefined}
        />
      </Form>
    </Dialog>
  )
}
