import { isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../app/api/gateways.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { SelectField, TextAreaField } from '../../components/forms/fields.tsx'
import { Form } from '../../components/forms/form.tsx'
import { parseJsonObject } from '../../components/forms/json-object.ts'
import { jobMessages } from './messages.ts'

type StartJobProps = { workflows: readonly string[]; onClose: () => Promise<void> }

/**
 * `StartJob` starts a job of a custom workflow. Jobs of built-in workflows are started on other pages, for example a
 * scan on the discovery page.
 */
export function StartJob({ workflows, onClose }: StartJobProps) {
  const text = useText(jobMessages)
  const api = useApi()
  const navigate = useNavigate()
  const gateways = [...useGatewayNames()].map(([value, label]) => ({ value, label }))
  const offered = workflows.filter((name) => !isBuiltInWorkflow(name))
  const [chosen, setChosen] = useState<{ workflow?: string; gateway?: string }>({})
  const [definition, setDefinition] = useState('{}')
  const [isSubmitted, setSubmitted] = useState(false)
  const workflow = chosen.workflow ?? offered[0]
  const gateway = chosen.gateway ?? gateways[0]?.value
  const content = parseJsonObject(definition)
  if (workflow === undefined || gateway === undefined) {
    return (
      <Dialog title={text.start} onClose={onClose}>
        <p className="card-lead">{workflow === undefined ? text.noWorkflow : text.noGateway}</p>
        {workflow === undefined ? (
          <Link to="/workflows">{text.toWorkflows}</Link>
        ) : (
          <Link to="/discovery">{text.toDiscovery}</Link>
        )}
      </Dialog>
    )
  }
  const start = async (content: Record<string, unknown>) => {
    const job = await api.workflows.createJob({ body: { clientId: gateway, workflow, definition: content } })
    await onClose()
    navigate({ to: `/jobs/${job.id}` })
  }
  const submit = () => {
    setSubmitted(true)
    return content === undefined ? false : start(content)
  }
  return (
    <Dialog title={text.start} onClose={onClose}>
      <Form action={text.start} onSubmit={submit}>
        <SelectField
          label={text.workflow}
          hint={text.startHint}
          value={workflow}
          onChange={(value) => setChosen({ ...chosen, workflow: value })}
          choices={offered.map((name) => ({ value: name, label: name }))}
        />
        <SelectField
          label={text.gateway}
          value={gateway}
          onChange={(value) => setChosen({ ...chosen, gateway: value })}
          choices={gateways}
        />
        <TextAreaField
          label={text.input}
          hint={text.inputHint}
          error={isSubmitted && content === undefined ? text.notJson : undefined}
          isCode
          rows={5}
          value={definition}
          onChange={setDefinition}
        />
      </Form>
    </Dialog>
  )
}
