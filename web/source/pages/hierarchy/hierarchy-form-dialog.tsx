import type { Hierarchy, TemplateName } from '@millwright/api/hierarchy.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { TextField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { useHierarchyRefresh } from './hierarchy-data.ts'
import { hierarchyMessages } from './messages.ts'
import { nodeTypeName } from './node-type-names.ts'

type HierarchyFormDialogProps = {
  /** The hierarchy to edit. Without it, the dialog creates a new hierarchy. */
  hierarchy?: Hierarchy
  /** The template that is chosen when the dialog opens. */
  suggestedTemplate?: TemplateName | undefined
  onClose: () => unknown
  onCreated?: (id: string) => void
}

/** `HierarchyFormDialog` creates a hierarchy from a template, or edits the name and the description of a hierarchy. */
export function HierarchyFormDialog({ hierarchy, suggestedTemplate, onClose, onCreated }: HierarchyFormDialogProps) {
  const text = useText(hierarchyMessages)
  const api = useApi()
  const refresh = useHierarchyRefresh()
  const [name, setName] = useState(hierarchy?.name ?? '')
  const [description, setDescription] = useState(hierarchy?.description ?? '')
  const [template, setTemplate] = useState<TemplateName | ''>(suggestedTemplate ?? '')
  const [isSubmitted, setSubmitted] = useState(false)
  const save = async () => {
    const fields = { name: name.trim(), description: description.trim() }
    if (hierarchy === undefined) {
      const data = {
        name: fields.name,
        ...(fields.description !== '' && { description: fields.description }),
        ...(template !== '' && { template }),
      }
      const answer = await api.hierarchy.createHierarchy({ body: { data } })
      await refresh()
      showSuccess(text.hierarchyCreated(fields.name))
      await onClose()
      onCreated?.(answer.data.id)
      return
    }
    const data = { name: fields.name, description: fields.description === '' ? null : fields.description }
    await api.hierarchy.updateHierarchy({ params: { id: hierarchy.id }, body: { data } })
    await refresh()
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return name.trim() === '' ? false : save()
  }
  return (
    <Dialog title={hierarchy === undefined ? text.createHierarchy : text.editHierarchy} onClose={onClose}>
      <Form action={hierarchy === undefined ? text.create : text.save} onCancel={onClose} onSubmit={submit}>
        <TextField
          label={text.name}
          error={isSubmitted && name.trim() === '' ? text.required : undefined}
          isRequired
          maxLength={128}
          value={name}
          onChange={setName}
        />
        <TextField label={text.description} maxLength={1024} value={description} onChange={setDescription} />
        {hierarchy === undefined && <TemplateField value={template} onChange={setTemplate} />}
      </Form>
    </Dialog>
  )
}

/** Loads the templates with their levels. */
export function useTemplates() {
  const query = useOperationQuery()
  return useQuery(query(['hierarchy', 'listTemplates'], {})).data?.data ?? []
}

type TemplateFieldProps = { value: TemplateName | ''; onChange: (template: TemplateName | '') => void }

function TemplateField({ value, onChange }: TemplateFieldProps) {
  const text = useText(hierarchyMessages)
  const language = useLanguage()
  const templates = useTemplates()
  const choices = [
    ...templates.map(({ name, levels }) => ({
      value: name,
      label: text[templateTitles[name]],
      hint: levels.map((level) => nodeTypeName(level, language)).join(' › '),
    })),
    { value: '' as const, label: text.noTemplate, hint: text.noTemplateHint },
  ]
  return (
    <fieldset className="group">
      <legend>{text.template}</legend>
      {choices.map((choice) => (
        <label className="template" key={choice.value}>
          <input
            type="radio"
            name="template"
            value={choice.value}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          <span>
            {choice.label}
            <span className="field-hint">{choice.hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

export const templateTitles = { 'isa-95': 'templateIsa95', plant: 'templatePlant' } as const
