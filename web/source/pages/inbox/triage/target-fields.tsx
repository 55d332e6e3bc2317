import { useState } from 'react'
import { useAccessGroups } from '../../../app/api/access-groups.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { useHierarchies, useLastHierarchy, usePath } from '../../hierarchy/hierarchy-data.ts'
import { NodeBrowser } from '../../hierarchy/tree/node-browser.tsx'
import { inboxMessages } from '../messages.ts'
import '../../hierarchy/hierarchy.css'

export type Target = { accessGroupId: string; nodeId: string }

/** `TargetFields` selects the access group and the hierarchy node into which assets are onboarded. Both are optional. */
export function TargetFields({ target, onChange }: { target: Target; onChange: (target: Target) => void }) {
  const text = useText(inboxMessages)
  const groups = useAccessGroups()
  const canRead = usePermission('glb_hierarchy_read')
  const canAssign = usePermission('glb_hierarchy_write') && canRead
  return (
    <>
      <SelectField
        label={text.accessGroup}
        hint={text.accessGroupHint}
        value={target.accessGroupId}
        onChange={(accessGroupId) => onChange({ ...target, accessGroupId })}
        choices={[{ value: '', label: text.keepGroup }, ...groups.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      {canAssign && <NodeField value={target.nodeId} onChange={(nodeId) => onChange({ ...target, nodeId })} />}
    </>
  )
}

/** `NodeField` selects a node of one of the hierarchies. */
function NodeField({ value, onChange }: { value: string; onChange: (nodeId: string) => void }) {
  const text = useText(inboxMessages)
  const hierarchies = useHierarchies().data ?? []
  const [last, setLast] = useLastHierarchy()
  const path = usePath(value === '' ? undefined : value)
  const [chosen, setChosen] = useState<string>()
  const first = hierarchies.find(({ id }) => id === last) ?? hierarchies[0]
  if (first === undefined) return null
  const hierarchyId = chosen ?? first.id
  const names = value === '' ? text.noNode : (path.data?.map(({ name }) => name).join(' › ') ?? '…')
  return (
    <fieldset className="target-node">
      <legend>{text.node}</legend>
      <p className="target-chosen">
        <strong>{names}</strong>
        {value !== '' && (
          <button type="button" className="link-button" onClick={() => onChange('')}>
            {text.clearNode}
          </button>
        )}
      </p>
      {hierarchies.length > 1 && (
        <SelectField
          label={text.hierarchy}
          value={hierarchyId}
          onChange={setChosen}
          choices={hierarchies.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      <div className="node-choice">
        <NodeBrowser
          key={hierarchyId}
          hierarchyId={hierarchyId}
          selected={value === '' ? undefined : value}
          onSelect={({ id }) => {
            setLast(hierarchyId)
            onChange(id)
          }}
          empty={<p className="tree-note">{text.noNodes}</p>}
        />
      </div>
    </fieldset>
  )
}
