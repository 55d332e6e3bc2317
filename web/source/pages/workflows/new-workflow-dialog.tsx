import type { Workflow } from '@millwright/api/workflows.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { TextAreaField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { parseJsonObject } from '../../components/forms/json-object.ts'
import { workflowMessages } from './messages.ts'

const example: Workflow = {
  name: 'my.workflow',
  states: [{ name: 'OPEN' }, { name: 'DONE', description: 'The job is done' }],
  transitions: [{ from: 'OPEN', to: 'DONE', eligible: 'CLIENT' }],
}

type NewWorkflowDialogProps = {
  onClose: () => void
  onStored: (name: string) => void
}

export function NewWorkflowDialog({ onClose, onStored }: NewWorkflowDialogProps) {
  const text = useText(workflowMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [definition, setDefinition] = useState(() => JSON.stringify(example, null, 2))
  const [error, setError] = useState<string>()
  const submit = () => {
    // Only checks that the input is a JSON object, because the server validates the workflow.
    const workflow = parseJsonObject(definition) as Workflow | undefined
    setError(workflow === undefined ? text.notJson : undefined)
    return workflow === undefined ? false : store(workflow)
  }
  const store = async (workflow: Workflow) => {
    const { name } = await api.workflows.createWorkflow({ body: workflow })
    await queryClient.invalidateQueries({ queryKey: keyOf('workflows') })
    showSuccess(text.saved)
    onStored(name)
  }
  return (
    <Dialog title={text.add} onClose={onClose} isWide>
      <Form action={text.save} onSubmit={submit}>
        <TextAreaField
          label={text.definition}
          hint={text.addHint}
          error={error}
          value={definition}
          onChange={setDefinition}
          rows={14}
          isCode
        />
      </Form>
    </Dialog>
  )
}
