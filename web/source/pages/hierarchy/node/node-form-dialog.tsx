import type { Hierarchy, HierarchyNode } from '@millwright/api/hierarchy.ts'
import { useState } from 'react'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { announce } from '../../../components/feedback/announcement.ts'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { useHierarchyRefresh } from '../hierarchy-data.ts'
import { hierarchyMessages } from '../messages.ts'
import { nodeTypeName } from '../node-type-names.ts'
import { PropertyFields, propertiesOf, propertyRows } from './property-fields.tsx'

type NodeFormDialogProps = {
  hierarchy: Hierarchy
  /** The parent of a new or changed node. A node of the top level has no parent. */
  parent: { name: string; type?: string | undefined } | undefined
  onClose: () => void
} & ({ parentId: string | null; node?: never; onCreated: (node: HierarchyNode) => void } | { node: HierarchyNode })

/** `NodeFormDialog` creates a node, or edits the name, the type and the properties of a node. */
export function NodeFormDialog({ hierarchy, parent, onClose, ...props }: NodeFormDialogProps) {
  const text = useText(hierarchyMessages)
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const { node } = props
  const levels = levelsBelow(hierarchy, parent?.type)
  const [name, setName] = useState(node?.name ?? '')
  const [type, setType] = useState(node?.type ?? levels?.[0] ?? '')
  const [rows, setRows] = useState(propertyRows(node?.properties ?? {}))
  const [isSubmitted, setSubmitted] = useState(false)
  const save = async () => {
    const fields = { name: name.trim(), properties: propertiesOf(rows) }
    const given = type.trim()
    if (props.node !== undefined) {
      const data = { ...fields, type: given === '' ? null : given }
      await api.hierarchy.updateNode({ params: { id: props.node.id }, body: { data } })
      showSuccess(text.saved)
    } else {
      const data = { ...fields, parentId: props.parentId, ...(given !== '' && { type: given }) }
      const { data: created } = await api.hierarchy.createNode({ params: { id: hierarchy.id }, body: { data } })
      announce(text.nodeCreated(created.name))
      props.onCreated(created)
    }
    await refresh()
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  const title = node !== undefined ? text.editNode : parent === undefined ? text.addTopNode : text.addBelow(parent.name)
  return (
    <Dialog title={title} onClose={onClose}>
      {levels?.length === 0 ? (
        <p>{text.lastLevel}</p>
      ) : (
        <Form action={node === undefined ? text.create : text.save} onCancel={onClose} onSubmit={submit}>
          <TextField
            label={text.name}
            error={isSubmitted && name.trim() === '' ? text.required : undefined}
            isRequired
            maxLength={128}
            value={name}
            onChange={setName}
          />
          <TypeField levels={levels} value={type} onChange={setType} />
          <PropertyFields rows={rows} onChange={setRows} />
        </Form>
      )}
    </Dialog>
  )
}

type TypeFieldProps = { levels: readonly string[] | undefined; value: string; onChange: (type: string) => void }

function TypeField({ levels, value, onChange }: TypeFieldProps) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  if (levels === undefined) {
    return <TextField label={text.type} hint={text.typeHint} maxLength={64} value={value} onChange={onChange} />
  }
  return (
    <SelectField
      label={text.type}
      value={value}
      onChange={onChange}
      choices={levels.map((level) => ({ value: level, label: nodeTypeName(level, language) }))}
    />
  )
}

/**
 * Returns the template levels that are below a node of this type. Returns undefined if the hierarchy has no template.
 */
function levelsBelow({ levels }: Hierarchy, type: string | undefined): readonly string[] | undefined {
  return levels?.slice(type === undefined ? 0 : levels.indexOf(type) + 1)
}
