import { isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ConfirmButton } from '../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { SelectField } from '../../components/forms/fields.tsx'
import { Card } from '../../components/page/card.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { PlainTable } from '../../components/tables/plain-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { workflowMessages } from './messages.ts'
import { NewWorkflowDialog } from './new-workflow-dialog.tsx'
import { WorkflowDiagram } from './workflow-diagram.tsx'
import { workflowName, workflowNames, workflowText } from './workflow-names.ts'

/** `WorkflowsPage` shows the workflows with their diagrams, states and transitions. */
export function WorkflowsPage() {
  const text = useText(workflowMessages)
  const names = useText(workflowNames)
  const canManage = usePermission('glb_workflow_manage')
  const query = useOperationQuery()
  const [isAdding, setAdding] = useCreateDialog()
  const [search, setSearch] = useSearchState<'name' | 'add'>()
  const workflows = useQuery(
    query(['workflows', 'listWorkflows'], { query: { limit: 1_000 } }, { live: ['workflows.workflow'] }),
  )
  usePageTitle(text.title)
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={canManage && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
      />
      <QueryState query={workflows}>
        {({ content }) => {
          const chosen = content.find(({ name }) => name === search.name) ?? content[0]
          return (
            <>
              <Toolbar>
                <SelectField
                  label={text.chosen}
                  isLabelUnseen
                  value={chosen?.name ?? ''}
                  onChange={(name) => setSearch({ name })}
                  choices={content.map(({ name }) => ({ value: name, label: workflowName(name, names) }))}
                />
              </Toolbar>
              {chosen !== undefined && <WorkflowCards workflow={chosen} canManage={canManage} />}
            </>
          )
        }}
      </QueryState>
      {isAdding && canManage && (
        <NewWorkflowDialog onClose={() => setAdding(false)} onStored={(name) => setSearch({ name, add: undefined })} />
      )}
    </>
  )
}

function WorkflowCards({ workflow, canManage }: { workflow: Workflow; canManage: boolean }) {
  const text = useText(workflowMessages)
  const language = useLanguage()
  const description = workflowText({ workflow: workflow.name, description: workflow.description }, language)
  const api = useApi()
  const queryClient = useQueryClient()
  const remove = async () => {
    await api.workflows.deleteWorkflow({ params: { name: workflow.name } })
    await queryClient.invalidateQueries({ queryKey: keyOf('workflows') })
    showSuccess(text.removed)
  }
  return (
    <div className="cards cards-two">
      <Card
        title={workflow.name}
        size="wide"
        actions={
          isBuiltInWorkflow(workflow.name) ? (
            <StatusChip>{text.builtIn}</StatusChip>
          ) : (
            canManage && (
              <ConfirmButton action={text.remove} title={text.removeTitle(workflow.name)} onConfirm={remove}>
                {text.removeDetail}
              </ConfirmButton>
            )
          )
        }
      >
        {description !== undefined && <p className="quiet">{description}</p>}
        <WorkflowDiagram name={workflow.name} label={text.drawing(workflow.name)} />
        <p>
          <Link to="/jobs" search={{ type: workflow.name }}>
            {text.jobs}
          </Link>
        </p>
      </Card>
      <Card title={text.states}>
        <KeyValueList
          items={workflow.states.map(({ name, description: english }) => ({
            name,
            value: workflowText({ workflow: workflow.name, state: name, description: english }, language) ?? '–',
          }))}
        />
      </Card>
      <Card title={text.transitions}>
        <Transitions workflow={workflow} />
      </Card>
    </div>
  )
}

function Transitions({ workflow: { transitions } }: { workflow: Workflow }) {
  const text = useText(workflowMessages)
  return (
    <PlainTable columns={[text.from, text.to, text.triggeredBy]}>
      {transitions.map(({ from, to, eligible, action }) => {
        const trigger = eligible === 'CLIENT' ? text.byClient : text.byPlatform
        return (
          <tr key={`${from} ${to} ${eligible}`}>
            <td>{from}</td>
            <td>{to}</td>
            <td>{action === 'IMMEDIATE' ? text.immediately(trigger) : trigger}</td>
          </tr>
        )
      })}
    </PlainTable>
  )
}
