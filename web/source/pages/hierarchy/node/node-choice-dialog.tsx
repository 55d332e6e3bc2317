import type { HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { useHierarchies, useLastHierarchy } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { NodeBrowser } from '../tree/node-browser.tsx'
import '../hierarchy.css'

type NodeChoiceDialogProps = {
  title: string
  hint?: string
  selected: string | undefined
  onChoose: (node: HierarchyNode) => void
  onClose: () => void
}

/** `NodeChoiceDialog` lets the user choose a node of any hierarchy. */
export function NodeChoiceDialog({ title, hint, selected, onChoose, onClose }: NodeChoiceDialogProps) {
  const text = useText(hierarchyMessages)
  const { data: hierarchies } = useHierarchies()
  const [last] = useLastHierarchy()
  const [chosen, setChosen] = useState<string>()
  const hierarchyId = chosen ?? hierarchies?.find(({ id }) => id === last)?.id ?? hierarchies?.[0]?.id
  return (
    <Dialog title={title} onClose={onClose}>
      {hint !== undefined && <p className="quiet">{hint}</p>}
      {hierarchies !== undefined && hierarchies.length > 1 && (
        <SelectField
          label={text.hierarchy}
          value={hierarchyId ?? ''}
          onChange={setChosen}
          choices={hierarchies.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {hierarchies?.length === 0 && <p className="quiet">{text.noHierarchyTitle}</p>}
      {hierarchyId !== undefined && (
        <div className="node-choice">
          <NodeBrowser
            key={hierarchyId}
            hierarchyId={hierarchyId}
            selected={selected}
            onSelect={onChoose}
            empty={null}
          />
        </div>
      )}
    </Dialog>
  )
}
